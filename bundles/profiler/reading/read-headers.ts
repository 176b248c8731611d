import { asList, asObject, asText } from './read-soft.ts'

/** The values of a header of a recorded request or response, in their order; its name is in lower case. */
export function readHeader(message: unknown, name: string): string[] {
  return asList(asObject(message).headers)
    .map(asList)
    .filter(([field]) => asText(field).toLowerCase() === name)
    .map(([, value]) => asText(value))
}
