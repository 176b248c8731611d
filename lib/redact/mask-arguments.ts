import type { Redactor } from './redactor.ts'
import { mask } from './secret-names.ts'

/** Masks secrets in the arguments of a command line: `--token=abc`, `--token abc`, and whatever a text gives away. */
export function maskArguments(values: readonly string[], redactor: Redactor): string[] {
  return values.map((value, index) => {
    const option = values[index - 1] ?? ''
    const isOptionValue = option.startsWith('-') && !option.includes('=') && !value.startsWith('-')
    return isOptionValue && value !== '' && redactor.isSecret(option) ? mask : redactor.text(value)
  })
}
