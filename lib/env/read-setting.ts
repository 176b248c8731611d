import { maskText } from '../redact/mask-text.ts'
import type { SchemaResult, StandardSchema } from '../schema/standard-schema.ts'
import { asText, type Conversion, splitList } from '../text/conversion.ts'
import type { Setting } from './define-settings.ts'

/** The value of a setting, or its mistakes: texts that follow the name of the setting, without secrets. */
export interface SettingResult {
  readonly value?: unknown
  readonly mistakes?: readonly string[]
}

/** Converts the text of a variable; `undefined` if the variable is not set. */
export function readSetting(setting: Setting, text: string | undefined, isSecret: boolean): SettingResult {
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
