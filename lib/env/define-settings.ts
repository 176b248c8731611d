import { ARGUMENT_INVALID, checkFunction, checkOptions } from '../errors/arguments.ts'
import type { StandardSchema } from '../schema/standard-schema.ts'
import { asText, type Conversion } from '../text/conversion.ts'
import { describeValue } from '../text/describe-value.ts'
import type { ShapeOf } from '../text/shape.ts'

/** A setting of a bundle: a variable of the environment, or of a `.env` file. */
export interface Setting<value = unknown> {
  /** What the setting is for, in one line. */
  readonly help: string
  /** Checks and converts the text of the variable; by default the value is the text. A schema must be synchronous. */
  readonly schema?: Conversion<value> | StandardSchema<value>
  /**
   * The value of a setting that is not set. Without a default the setting must be set, unless its schema accepts
   * `undefined`; `default: undefined` makes any setting optional.
   */
  readonly default?: value | undefined
  /** The value is never shown, logged or stored. Settings whose names look secret need no mark: `LIBRARY_API_KEY`. */
  readonly secret?: true
}

const settingShape: ShapeOf<Setting> = { help: 'string', schema: true, default: true, secret: 'boolean' }

/** The settings that a bundle declares. Made by {@link defineSettings}, and read with `app.settings.of()`. */
export interface BundleSettings<values = unknown> {
  readonly definitions: { readonly [name in keyof values]: Setting<values[name]> }
  /** Finds mistakes in settings that depend on one another: messages by the names of settings. */
  check(values: values): SettingMistakes<values>
}

/** Messages by the names of settings. A message follows the name: `is set without LIBRARY_PASSWORD.` */
export type SettingMistakes<values> = { readonly [name in keyof values]?: string | undefined }

/** The values of settings by their names. */
export type SettingValues<settings> = {
  readonly [name in keyof settings]: Converted<settings[name]> | MissingOf<settings[name]>
}

type Converted<setting> = setting extends { readonly schema: Conversion<infer value> | StandardSchema<infer value> }
  ? value
  : string

/** `undefined` if it is the default. */
type MissingOf<setting> = setting extends { readonly default: infer value } ? Extract<value, undefined> : never

/**
 * Declares the settings of a bundle, for {@link Bundle.settings}. Their values are read and checked when the kernel boots.
 * The function `check` is called if each setting is right for itself; it compares settings with one another. @throws ARGUMENT_INVALID
 */
export function defineSettings<const settings extends Readonly<Record<string, Setting>>>(
  definitions: settings & { readonly [name in keyof settings]: Setting<Converted<settings[name]>> },
  check: (values: SettingValues<settings>) => SettingMistakes<settings> = () => ({}),
): BundleSettings<SettingValues<settings>> {
  checkFunction('defineSettings(definitions, check)', 'the second argument', check)
  for (const [name, setting] of Object.entries<Setting>(definitions)) {
    checkOptions(`defineSettings(), ${name}`, setting, settingShape)
    checkSchema(name, setting)
  }
  // The type of a setting follows from its schema and default, and the compiler has checked one against the other.
  return { definitions, check } as unknown as BundleSettings<SettingValues<settings>>
}

/** @throws ARGUMENT_INVALID */
function checkSchema(name: string, { schema = asText }: Setting): void {
  const { convert, '~standard': standard } = Object(schema) as Partial<Conversion<unknown> & StandardSchema>
  if (typeof convert === 'function' || typeof standard?.validate === 'function') return
  const mistake = `the schema is a conversion, such as asInteger, or one of valibot or zod, not ${describeValue(schema)}`
  throw new ARGUMENT_INVALID([`defineSettings(), ${name}`, mistake])
}
