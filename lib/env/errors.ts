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

export const CONFIG_SETTING_MALFORMED: CodedErrorClass<[bundle: string, name: string]> = defineError(
  'CONFIG_SETTING_MALFORMED',
  500,
  'The bundle "%s" declares the setting "%s": a name consists of capital letters, digits and "_", such as "PAGE_SIZE".',
)

export const CONFIG_SETTING_TAKEN: CodedErrorClass<[name: string, owner: string, other: string]> = defineError(
  'CONFIG_SETTING_TAKEN',
  500,
  'The setting "%s" is declared by %s and by %s. Rename one, for example with the name of its bundle in front.',
)

export const CONFIG_SETTINGS_UNDECLARED: CodedErrorClass<[names: string]> = defineError(
  'CONFIG_SETTINGS_UNDECLARED',
  500,
  'No bundle of this application has declared the settings %s. Add them to the bundle, as its property "settings".',
)
