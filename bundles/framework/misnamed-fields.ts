import { inputsOf } from '../../kernel/argument-sources.ts'
import type { Request } from '../../lib/http/request.ts'
import type { Route } from '../../lib/routing/route.ts'
import { toDescribedSchema } from '../../lib/schema/describe-schema.ts'
import { nearestNames } from '../../lib/text/mistakes.ts'

/**
 * A field of a sent form that the schema of its route does not have, and a field with nearly the same name that the
 * schema has and the form does not.
 */
export function findMisnamed(route: Route, { body }: Request): [sent: string, wanted: string] | undefined {
  const { form } = body.peek()
  const schema = inputsOf(route).find(({ source }) => source === 'form')?.schema
  const wanted = schema && toDescribedSchema(schema).fields
  if (form === undefined || wanted === undefined) return undefined
  const sent = new Set(Array.from(form, ([name]) => name))
  const missing = wanted.filter(name => !sent.has(name))
  for (const name of sent) {
    const [nearest] = wanted.includes(name) ? [] : nearestNames(name, missing, name.length / 3)
    if (nearest !== undefined) return [name, nearest]
  }
  return undefined
}
