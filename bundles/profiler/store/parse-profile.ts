import { measureJsonDepth } from '../../../lib/body/parse-json.ts'
import { type ProcessFacts, type Profile, schemaVersion } from '../profile.ts'
import { lineLimits } from './line-limits.ts'
import { isObject, parseJsonObject } from './parse-json-object.ts'
import { isToken, parseSummary } from './parse-summary.ts'

/** Far deeper than anything that is collected, and far from where walking through it would overflow the stack. */
const depthLimit = 100

/** Reads the text of a profile; `undefined` when it is damaged, too long or too deep, or of another schema version. */
export function parseProfile(text: string): Profile | undefined {
  const value = parseBounded(text)
  if (value === undefined || value.schemaVersion !== schemaVersion) return undefined
  const { children, data, failures } = value
  const summary = parseSummary(value.summary)
  if (summary === undefined || !isObject(data) || !isTexts(failures) || !isTokens(children)) return undefined
  return { schemaVersion, summary, children, data, failures }
}

/** Reads the facts of a process; there are none when they are damaged. */
export function parseFacts(text: string): ProcessFacts {
  return parseBounded(text) ?? {}
}

function parseBounded(text: string): Readonly<Record<string, unknown>> | undefined {
  if (text.length > lineLimits.record || measureJsonDepth(text) > depthLimit) return undefined
  return parseJsonObject(text)
}

function isTokens(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every(isToken)
}

function isTexts(value: unknown): value is Readonly<Record<string, string>> {
  return isObject(value) && Object.values(value).every(text => typeof text === 'string')
}
