import type { z } from 'zod'
import type { CommandOption } from '../../../../kernel/console-command.ts'
import type { ListRequest } from '../../insight/list-request.ts'
import { parseCountRange, parseMoment, rangeHint } from '../../insight/search-values.ts'
import type { DataForm } from '../../profile/links.ts'
import { isToken } from '../../profile/schema.ts'
import { latest } from '../find-profile.ts'
import { filterOptions, pagingOptions, parseSearch } from '../search-options.ts'

/** The entry of zod, which is loaded with the SDK. */
export type Zod = typeof z

/** The inputs that several tools take, by name. */
export interface ToolInputs {
  /** Names a profile. */
  readonly token: z.ZodString
  /** The filters of the list, by the names of the console's options. */
  readonly filters: Readonly<Record<string, z.ZodType>>
  /** Page, limit and order of the list. */
  readonly paging: Readonly<Record<string, z.ZodType>>
  /** The form and the length of the answer. */
  readonly answer: {
    readonly format: z.ZodDefault<z.ZodEnum<{ markdown: 'markdown'; json: 'json' }>>
    readonly max_length: z.ZodDefault<z.ZodCoercedNumber>
  }
}

/** Longer lists are read page by page. */
const limitOfList = 100

/** Describes the inputs that several tools take. */
export function createInputs(z: Zod): ToolInputs {
  return {
    token: z
      .string('must be a token (six hexadecimal digits) or "latest"')
      .refine(word => word === latest || isToken(word), 'must be a token (six hexadecimal digits) or "latest"')
      .describe('the token of a profile, or latest'),
    filters: toShape(z, filterOptions),
    paging: toShape(z, pagingOptions),
    answer: {
      format: z.enum(['markdown', 'json']).describe('the form of the answer').default('markdown'),
      max_length: wholeNumber(z, 200_000, 500)
        .describe('the greatest number of characters of the answer')
        .default(20_000),
    },
  }
}

/** A whole number; also one that is written as a text. */
export function wholeNumber(z: Zod, most: number, least = 1): z.ZodCoercedNumber {
  const message = `must be a whole number from ${least} to ${most}`
  return z.coerce.number(message).int(message).min(least, message).max(most, message)
}

/** Reads the filters of a tool as the console reads its options. */
export function readSearch(values: Readonly<Record<string, unknown>>): ListRequest {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== '' && value !== false)
  return parseSearch({ options: Object.fromEntries(given.map(([name, value]) => [name, String(value)])) })
}

function toShape(z: Zod, options: readonly CommandOption[]): Record<string, z.ZodType> {
  return Object.fromEntries(
    options.map(option => [option.name, toSchema(z, option).describe(option.description).optional()]),
  )
}

function toSchema(z: Zod, { choices, name, value }: CommandOption): z.ZodType {
  if (value === undefined) return z.boolean('must be true or false')
  if (choices !== undefined) return z.enum([...choices], `must be one of ${choices.join(', ')}`)
  if (name === 'limit') return wholeNumber(z, limitOfList)
  if (name === 'page') return wholeNumber(z, 1_000_000)
  if (name === 'status' || name === 'slower')
    return z.union([z.string(), z.number()], 'must be a text such as "404", or a number')
  if (name === 'queries') {
    const message = `must be ${rangeHint}`
    return z
      .union([z.string(), z.number()], message)
      .refine(range => parseCountRange(String(range)) !== undefined, message)
  }
  if (value !== 'time') return z.string('must be a text')
  const message = 'must be a date such as 2026-11-20 or 2026-11-20T14:30 (UTC), or seconds since 1970'
  return z.string(message).refine(text => parseMoment(text, 'first') !== undefined, message)
}

/** The form and the length of an answer. */
export interface AnswerOptions {
  readonly format: 'markdown' | 'json'
  readonly max_length: number
}

/** An answer in both forms; only the requested one is made. */
export type AnswerForms = Readonly<Record<DataForm, () => unknown>>

/**
 * Writes an answer in the requested form. A text that is too long is cut at the end of a line. Remarks, also the one
 * about the cut, are a text of their own, so that recorded data cannot pretend to be one.
 */
export function writeAnswer(forms: AnswerForms, options: AnswerOptions, ...remarks: readonly string[]): string[] {
  const text = options.format === 'json' ? JSON.stringify(forms.json()) : String(forms.md())
  const kept = cut(text, options.max_length)
  const left = text.length - kept.length
  const advice = 'Ask for less (a panel, a lower limit), or raise max_length.'
  const notes = left === 0 ? remarks : [`Cut: ${left.toLocaleString('en')} more characters. ${advice}`, ...remarks]
  return notes.length === 0 ? [kept] : [kept, notes.join('\n')]
}

function cut(text: string, limit: number): string {
  if (text.length <= limit) return text
  const end = text.lastIndexOf('\n', limit)
  return text.slice(0, end > 0 ? end : limit).toWellFormed()
}
