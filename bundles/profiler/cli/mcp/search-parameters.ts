import type { CommandOption } from '../../../../kernel/console-command.ts'
import { type ListRequest, parseMoment } from '../../insight/list-request.ts'
import { filterOptions, pagingOptions, parseSearch } from '../search-options.ts'
import {
  choiceParameter,
  countParameter,
  flagParameter,
  type Parameter,
  type TextRules,
  textParameter,
} from './parameter.ts'
import type { Parameters } from './read-arguments.ts'

/** More records than this are listed page by page. */
const most = 100

const moment: TextRules = {
  isFit: text => parseMoment(text, 'first') !== undefined,
  expected: 'a date such as 2026-11-20 or 2026-11-20T14:30 (UTC), or seconds since 1970',
}

/** Which records are wanted: the filters of the web and of the console, by the names of the latter. */
export const filterParameters: Parameters = toParameters(filterOptions)

/** Which of them are listed, and in which order. */
export const pagingParameters: Parameters = toParameters(pagingOptions)

/** Reads what a tool was given as the console reads its options. */
export function readSearch(values: Readonly<Record<string, unknown>>): ListRequest {
  const given = Object.entries(values).filter(([, value]) => value !== undefined && value !== false)
  return parseSearch({ options: Object.fromEntries(given.map(([name, value]) => [name, String(value)])) })
}

function toParameters(options: readonly CommandOption[]): Parameters {
  return Object.fromEntries(options.map(option => [option.name, toParameter(option)]))
}

function toParameter({ choices, description, name, value }: CommandOption): Parameter {
  if (value === undefined) return flagParameter(description)
  if (choices !== undefined) return choiceParameter(description, choices)
  if (name === 'limit') return countParameter(description, most)
  if (name === 'page') return countParameter(description, 1_000_000)
  return textParameter(description, value === 'time' ? moment : undefined)
}
