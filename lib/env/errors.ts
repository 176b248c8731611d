import { type CodedErrorClass, defineError } from '../errors/http-error.ts'

/**
 * Settings are missing or wrong; every mistake is listed. Correct the lines in the message, in `.env.local` or the
 * process environment.
 */
export const CONFIG_INVALID: CodedErrorClass<[mistakes: string]> = defineError(
  'CONFIG_INVALID',
  500,
  'The configuration has mistakes:\n%s',
)

/** A `.env` file exists and cannot be read. Check its permissions. */
export const CONFIG_FILE_UNREADABLE: CodedErrorClass<[file: string, reason: string]> = defineError(
  'CONFIG_FILE_UNREADABLE',
  500,
  'The file "%s" cannot be read: %s.',
)

/** A `.env` file has a line that is not `NAME=value`. Correct the line in the message. */
export const CONFIG_FILE_MALFORMED: CodedErrorClass<[file: string, line: number]> = defineError(
  'CONFIG_FILE_MALFORMED',
  500,
  'The file "%s" is malformed at line %s: expected NAME=value, a name of letters, digits and "_", and quotes closed on both sides.',
)

/** A bundle declares a setting whose name is not in capital letters. Rename it, as in `LIBRARY_PAGE_SIZE`. */
export const CONFIG_SETTING_MALFORMED: CodedErrorClass<[bundle: string, name: string]> = defineError(
  'CONFIG_SETTING_MALFORMED',
  500,
  'The bundle "%s" declares the setting "%s": a name consists of capital letters, digits and "_", such as "PAGE_SIZE".',
)

/**
 * Two bundles, or a bundle and the kernel, declare the same setting. Rename one; or declare it in one bundle, and read
 * it in both.
 */
export const CONFIG_SETTING_TAKEN: CodedErrorClass<[name: string, owner: string, other: string]> = defineError(
  'CONFIG_SETTING_TAKEN',
  500,
  'The setting "%s" is declared by %s and by %s. Rename one, for example with the name of its bundle in front.',
)

/**
 * `app.settings.of()` has settings that no bundle has declared. Give them to the bundle as its property `settings`, and
 * load the bundle.
 */
export const CONFIG_SETTINGS_UNDECLARED: CodedErrorClass<[names: string]> = defineError(
  'CONFIG_SETTINGS_UNDECLARED',
  500,
  'No bundle of this application has declared the settings %s. Add them to the bundle, as its property "settings".',
)
