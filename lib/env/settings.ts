import { ARGUMENT_INVALID, checkArguments, checkObject, checkOptions, checkString } from '../errors/arguments.ts'
import type { Logger } from '../log/logger.ts'
import { maskText } from '../redact/mask-text.ts'
import { isSecretName, mask } from '../redact/secret-names.ts'
import type { SchemaResult, StandardSchema } from '../schema/standard-schema.ts'
import { asText, type Conversion, findConversionMistake, findStandInMistake, splitList } from '../text/conversion.ts'
import { describeValue, isKeyed } from '../text/describe-value.ts'
import { nearestNames, quoteNearest, type ShapeOf, suggestNames } from '../text/mistakes.ts'
import { CONFIG_INVALID, CONFIG_SETTING_MALFORMED, CONFIG_SETTING_TAKEN, CONFIG_SETTINGS_UNDECLARED } from './errors.ts'

/** The variables that settings are read from. */
interface SettingSources {
  /** Texts by name. An empty text counts as missing. */
  readonly variables: Readonly<Record<string, string | undefined>>
  /** The names of `.env` files, by the variables that come from them. All other variables are of the process. */
  readonly files?: Readonly<Record<string, string>>
  /** What has no effect in the files, each as the end of a sentence about a file. */
  readonly doubts?: readonly string[]
}

/** A declared setting, for people. */
interface ListedSetting {
  readonly name: string
  /** The name of the bundle; `kernel` for the kernel's own settings. */
  readonly bundle: string
  /** The value in force, or the text of the variable if it is wrong. Only values of secret settings are masked. */
  readonly value: string
  /** `environment`, the name of a `.env` file, or `default`. */
  readonly from: string
  readonly isSecret: boolean
  readonly help: string
}

interface DeclaredSetting {
  readonly bundle: string
  readonly setting: Setting
  readonly isSecret: boolean
  readonly value: unknown
}

/** The settings of an application: those of the kernel and of all bundles, with their values and mistakes. */
export class Settings {
  readonly #variables: SettingSources['variables']
  readonly #files: Readonly<Record<string, string>>
  readonly #declared = new Map<string, DeclaredSetting>()
  readonly #values = new Map<BundleSettings, DeclaredValues>()
  readonly #mistakes: string[] = []
  readonly #allowed = new Set<string>()
  readonly doubts: readonly string[]

  constructor({ variables, files = {}, doubts = [] }: SettingSources) {
    this.#variables = variables
    this.#files = files
    this.doubts = doubts
  }

  /**
   * Declares the settings of a bundle and reads their values. The result has the values of settings without mistakes;
   * {@link Settings.check} reports the mistakes. @throws CONFIG_SETTING_MALFORMED CONFIG_SETTING_TAKEN
   */
  declare<values>(bundle: string, settings: BundleSettings<values>): Partial<values> {
    const values: Record<string, unknown> = {}
    const mistakes: string[] = []
    for (const [name, setting] of entriesOf(settings)) {
      const isSecret = setting.secret ?? isSecretName(name)
      const { mistakes: found = [], value } = readSetting(setting, this.textOf(name), isSecret)
      this.#add(name, { bundle, setting, isSecret, value })
      if (found.length === 0) values[name] = value
      const file = this.#files[name]
      const place = file === undefined ? '' : ` (${file})`
      mistakes.push(...found.map(mistake => `${name}${place} ${mistake}`))
    }
    // If there is no mistake, all values are known.
    if (mistakes.length === 0) mistakes.push(...this.#compare(settings, values as values))
    this.#mistakes.push(...mistakes)
    this.#values.set(settings, new DeclaredValues(values))
    return values as Partial<values>
  }

  /** Reports the mistakes of all declared settings at once, without the values of secrets. @throws CONFIG_INVALID */
  check(): void {
    if (this.#mistakes.length > 0) throw new CONFIG_INVALID([this.#mistakes.map(each => `  ${each}`).join('\n')])
  }

  /** The values of the settings that a bundle has declared. @throws CONFIG_SETTINGS_UNDECLARED ARGUMENT_INVALID */
  of<values>(settings: BundleSettings<values>): values {
    if (typeof settings?.check !== 'function') {
      const mistake = `it needs the result of defineSettings(), not ${describeValue(settings)}`
      throw new ARGUMENT_INVALID(['settings.of(settings)', mistake])
    }
    if (!this.#values.has(settings)) {
      throw new CONFIG_SETTINGS_UNDECLARED([
        entriesOf(settings)
          .map(([name]) => name)
          .join(', '),
      ])
    }
    // A kernel boots without mistakes only, and then the values of a declaration have its type.
    return this.#values.get(settings) as values
  }

  /** All declared settings, first those of the kernel. */
  list(): ListedSetting[] {
    return [...this.#declared].map(([name, { bundle, isSecret, setting, value }]) => {
      const text = this.textOf(name)
      const shown = toText(value) ?? text ?? ''
      const from = text === undefined ? 'default' : (this.#files[name] ?? 'environment')
      return { name, bundle, value: isSecret && shown !== '' ? mask : shown, from, isSecret, help: setting.help }
    })
  }

  /** Makes the settings of a bundle that does not run here known: their names in `.env` files are no mistake. */
  allow(settings: BundleSettings): void {
    for (const [name] of entriesOf(settings)) this.#allowed.add(name)
  }

  /**
   * Lists variables that are set although they are not settings. The process has many for other
   * programs: of these, only such with one mistake in the name of a setting that it does not set.
   */
  listUnknown(): UnknownSetting[] {
    const known = new Set([...this.#declared.keys(), ...this.#allowed])
    // A variable of the process overrides one of a file, so it may be meant. Words such as PATH belong to the system.
    const isSetByProcess = (name: string) => this.textOf(name) !== undefined && this.#files[name] === undefined
    const unset = [...known].filter(name => name.includes('_') && !isSetByProcess(name))
    return Object.keys(this.#variables).flatMap(name => {
      const file = this.#files[name]
      // `.env` is for all machines.
      const isIdle = profilerNames.test(name) && !this.#declared.has(name) && file !== '.env'
      if ((known.has(name) && !isIdle) || this.textOf(name) === undefined) return []
      if (isIdle) return { name, file, suggestion: profilerAdvice }
      if (file !== undefined)
        return { name, file, suggestion: suggestNames(name.toUpperCase(), known) || adviseOnUnknown(name) }
      if (name === 'PROFILER' && /^(?:1|true|on)$/.test(this.textOf(name) ?? ''))
        return { name, file, suggestion: profilerAdvice }
      const plural = unset.filter(each => each === name.replace(/Y$/, 'IES'))
      const nearest = name.includes('_') ? [...plural, ...nearestNames(name, unset, 1)] : []
      return nearest.length === 0 ? [] : { name, file, suggestion: quoteNearest(nearest) }
    })
  }

  /** Whether a text could be the value of a declared setting: a variable of another program may have a similar name. */
  accepts(name: string, text: string): boolean {
    const { isSecret = false, setting } = this.#declared.get(name) ?? {}
    return setting?.schema !== undefined && readSetting(setting, text, isSecret).mistakes === undefined
  }

  /** The text of a variable; `undefined` if it is missing or empty. */
  textOf(name: string): string | undefined {
    return this.#variables[name] || undefined
  }

  /** The variables of `.env` files, and the file of each. */
  get files(): Readonly<Record<string, string>> {
    return this.#files
  }

  #add(name: string, declared: DeclaredSetting): void {
    if (!/^[A-Z][A-Z\d_]*$/.test(name)) throw new CONFIG_SETTING_MALFORMED([declared.bundle, name])
    const other = this.#declared.get(name)
    if (other !== undefined) throw new CONFIG_SETTING_TAKEN([name, describeOwner(other), describeOwner(declared)])
    this.#declared.set(name, declared)
  }

  #compare<values>(settings: BundleSettings<values>, values: values): string[] {
    const mistakes: unknown = settings.check(values)
    if (!isKeyed(mistakes)) {
      const mistake = `check() returns an object with messages by the names of settings, not ${describeValue(mistakes)}`
      throw new ARGUMENT_INVALID(['defineSettings(definitions, check)', mistake])
    }
    return Object.entries<string | undefined>({ ...mistakes }).flatMap(([name, mistake]) =>
      mistake === undefined ? [] : `${name} ${this.#hideSecrets(mistake)}`,
    )
  }

  /** The message of a bundle may contain a value. */
  #hideSecrets(message: string): string {
    const secrets = [...this.#declared].flatMap(([name, { isSecret }]) => (isSecret ? (this.textOf(name) ?? []) : []))
    return secrets.reduce((text, secret) => text.replaceAll(secret, mask), message)
  }
}

/** The values that a bundle reads, by their names. Development explains other names by this class. */
export class DeclaredValues {
  constructor(values: object) {
    Object.freeze(Object.assign(this, values))
  }
}

/** The name of the kernel among the names of bundles in {@link ListedSetting}. */
export const kernelName = 'kernel'

/** A variable that is not a setting. */
interface UnknownSetting {
  readonly name: string
  /** The name of the `.env` file; `undefined` for a variable of the process. */
  readonly file: string | undefined
  /** The end of a sentence: `; the nearest is "APP_HOSTS"`, or what would be right. */
  readonly suggestion: string
}

const profilerNames = /^PROFILER_(?:URL|SAMPLE|ONLY_ERRORS|SLOWER_THAN|MCP)$/
const profilerAdvice =
  ': the profiler of an application needs APP_ENV=dev and debug; production has the access log and traces'

/** What Node.js, its libraries and the system read themselves, before any file. */
const ofProcess =
  /^(?:NODE_(?!ENV$)|NPM_|UV_|LD_|MALLOC_|SSL_CERT_|(?:HTTPS?|NO|ALL)_PROXY$|(?:TZ|LANG|PATH|TMPDIR)$|LC_)/

/** Files of settings do not change `process.env`, and a server reads its port before them. */
function adviseOnUnknown(name: string): string {
  if (name === 'PORT' || name === 'HOST') return `: use the option --${name.toLowerCase()} of bin/serve`
  if (ofProcess.test(name))
    return ': it is for the process, which does not get it from a file: set it in the environment'
  return ': declare it by defineSettings() in a bundle, and read it by settings.of(); process.env does not have it'
}

/** Warns of variables that are not settings: a mistyped name would have no effect, without an error. */
export function warnOfUnknownSettings(settings: Settings, logger: Pick<Logger, 'warning'>): void {
  for (const doubt of settings.doubts) logger.warning('The file {doubt}.', { doubt })
  for (const { file, name, suggestion } of settings.listUnknown()) {
    const place = file === undefined ? 'The environment' : `The file ${file}`
    const message = '{place} sets {name}, but there is no setting of this name{suggestion}.'
    logger.warning(message, { place, name, suggestion })
  }
}

/** Only defineSettings() makes such an object: each of its properties is a setting. */
function entriesOf(settings: BundleSettings): [name: string, setting: Setting][] {
  return Object.entries(settings.definitions)
}

function describeOwner({ bundle }: DeclaredSetting): string {
  return bundle === kernelName ? 'the kernel' : `the bundle "${bundle}"`
}

/** The text of a simple value, or of a list of these. */
function toText(value: unknown): string | undefined {
  if (Array.isArray(value)) {
    const texts = value.map(toText)
    return texts.includes(undefined) ? undefined : texts.join(', ')
  }
  if (typeof value === 'boolean') return value ? 'on' : 'off'
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
}

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
  /** The definition of each setting by its name. */
  readonly definitions: { readonly [name in keyof values]: Setting<values[name]> }
  /** Finds mistakes in settings that depend on one another: messages by the names of settings. */
  check(values: values): SettingMistakes<values>
}

/** Messages by the names of settings. A message follows the name: `is set without LIBRARY_PASSWORD.` */
type SettingMistakes<values> = { readonly [name in keyof values]?: string | undefined }

/** The values of settings by their names. */
type SettingValues<settings> = {
  readonly [name in keyof settings]: Converted<settings[name]> | MissingOf<settings[name]>
}

type Converted<setting> = setting extends { readonly schema: Conversion<infer value> | StandardSchema<infer value> }
  ? value
  : string

/** `undefined` if it is the default. */
type MissingOf<setting> = setting extends { readonly default: infer value } ? Extract<value, undefined> : never

/**
 * Declares the settings of a bundle, for {@link Bundle.settings}. Their values are read and
 * checked when the kernel boots. The function `check` is called if each setting is right for
 * itself; it compares settings with one another. @throws ARGUMENT_INVALID
 */
export function defineSettings<const settings extends Readonly<Record<string, Setting>>>(
  definitions: settings & { readonly [name in keyof settings]: Setting<Converted<settings[name]>> },
  check: (values: SettingValues<settings>) => SettingMistakes<settings> = () => ({}),
): BundleSettings<SettingValues<settings>> {
  checkArguments('defineSettings(definitions, check)', ['object', 'sync function'], definitions, check)
  for (const [name, setting] of Object.entries<Setting>(definitions)) {
    checkObject(`defineSettings(), ${name}`, setting, settingShape)
    checkOptions(`defineSettings(), ${name}`, setting, settingShape)
    checkString(`defineSettings(), ${name}`, '"help"', setting.help)
    checkSchema(name, setting)
    checkDefault(name, setting)
  }
  // The type of a setting follows from its schema and default, and the compiler has checked one against the other.
  return { definitions, check } as unknown as BundleSettings<SettingValues<settings>>
}

/** @throws ARGUMENT_INVALID */
function checkSchema(name: string, { schema = asText }: Setting): void {
  const { convert, '~standard': standard } = Object(schema) as Partial<Conversion<unknown> & StandardSchema>
  if (typeof standard?.validate === 'function') return
  const mistake =
    typeof convert === 'function'
      ? findConversionMistake(schema)
      : `the schema is a conversion, such as asInteger, or one of valibot or zod, not ${describeValue(schema)}`
  if (mistake !== undefined) throw new ARGUMENT_INVALID([`defineSettings(), ${name}`, mistake])
}

/**
 * Refuses a default of another type than the schema gives. A text that the schema refuses is one, if
 * the schema makes something else of texts: the default of a URL may be empty. @throws ARGUMENT_INVALID
 */
function checkDefault(name: string, setting: Setting): void {
  const convert = (text: string) => readSetting(setting, text, true).value
  const mistake = findStandInMistake(setting.default, text => convert(text) ?? convert('1'))
  if (mistake !== undefined) throw new ARGUMENT_INVALID([`defineSettings(), ${name}`, `its default ${mistake}`])
}

/** The value of a setting, or its mistakes: texts that follow the name of the setting, without secrets. */
interface SettingResult {
  readonly value?: unknown
  readonly mistakes?: readonly string[]
}

/** Converts the text of a variable; `undefined` if the variable is not set. */
function readSetting(setting: Setting, text: string | undefined, isSecret: boolean): SettingResult {
  if (text === undefined && Object.hasOwn(setting, 'default')) return { value: setting.default }
  const { schema = asText } = setting
  if ('~standard' in schema) return validate(schema, text, isSecret)
  if (text === undefined) return { mistakes: [`is not set; it must be ${schema.expected}.`] }
  const value = schema.convert(text)
  return value === undefined ? { mistakes: describeMistakes(schema, text, isSecret) } : { value }
}

/** In a list, each wrong entry is a mistake. */
function describeMistakes(schema: Conversion<unknown>, text: string, isSecret: boolean): string[] {
  const { entry } = schema
  const { expected } = entry ?? schema
  if (isSecret) return [`is not ${schema.expected}.`]
  const wrong = entry === undefined ? [text] : splitList(text).filter(each => entry.convert(each) === undefined)
  return wrong.map(each => `${quote(each)} is not ${expected}.`)
}

/** A value that is not secret may still be a URL with a password. */
function quote(text: string): string {
  return JSON.stringify(maskText(text))
}

function validate(schema: StandardSchema, text: string | undefined, isSecret: boolean): SettingResult {
  const result = callSchema(schema, text)
  if (result instanceof Promise) {
    result.catch(() => undefined)
    return { mistakes: ['has an asynchronous schema; the schema of a setting must be synchronous.'] }
  }
  if (result.issues === undefined) return { value: result.value }
  if (text === undefined) return { mistakes: ['is not set, and its schema needs a value.'] }
  if (isSecret) return { mistakes: ['is refused by its schema; the reason may contain the secret and is not shown.'] }
  const reasons = result.issues.map(({ message }) => maskText(message).replaceAll(/\s+/g, ' '))
  return { mistakes: reasons.map(reason => `${quote(text)} is refused by its schema: ${reason}`) }
}

/** A schema that throws refuses the text, too. */
function callSchema(
  schema: StandardSchema,
  text: string | undefined,
): SchemaResult<unknown> | Promise<SchemaResult<unknown>> {
  try {
    return schema['~standard'].validate(text)
  } catch (error) {
    return { issues: [{ message: String(error) }] }
  }
}
