import { type CodedErrorClass, defineError } from '../errors/http-error.ts'

export const CONFIG_INVALID: CodedErrorClass<[mistakes: string]> = defineError(
  'CONFIG_INVALID',
  500,
  'The configuration has mistakes:\n%s',
)

export const CONFIG_FILE_UNREADABLE: CodedErrorClass<[file: string, reason: string]> = defineError(
  'CONFIG_FILE_UNREADABLE',
  500,
  'The file "%s" cannot be read: %s.',
)

export const CONFIG_FILE_MALFORMED: CodedErrorClass<[file: string, line: number]> = defineError(
  'CONFIG_FILE_MALFORMED',
  500,
  'The file "%s" is malformed at line %s: expected NAME=value, with quotes closed on both sides.',
)
