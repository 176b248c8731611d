import type { Conversion } from '../text/conversion.ts'

/** Whether a text is the URL of a Redis. */
export function isRedisUrl(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url !== undefined && /^rediss?:$/.test(url.protocol) && url.hostname !== ''
}

/** The URL of a Redis, for settings. */
export const asRedisUrl: Conversion<string> = {
  expected: 'a URL such as redis://host:6379',
  convert: text => (isRedisUrl(text) ? text : undefined),
}
