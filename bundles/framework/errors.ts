import { type CodedErrorClass, defineError } from '../../lib/errors/http-error.ts'

/** `createFrameworkBundle` gets options that are wrong; every mistake is listed. Correct the options in the message. */
export const FRAMEWORK_OPTIONS_INVALID: CodedErrorClass<[mistakes: string]> = defineError(
  'FRAMEWORK_OPTIONS_INVALID',
  500,
  'The options of createFrameworkBundle() have mistakes:\n%s',
)

/**
 * A health check has not ended in time; it is logged, and `/_health` answers 503. Look at the part that it checks, or
 * give the check a longer `timeout`.
 */
export const FRAMEWORK_HEALTH_TIMEOUT: CodedErrorClass<[name: string, timeout: number]> = defineError(
  'FRAMEWORK_HEALTH_TIMEOUT',
  503,
  'The health check "%s" did not end within %s ms.',
)

/** Mistakes as lines of a message. Each one is a sentence without a full stop. */
export function listMistakes(mistakes: readonly string[]): string {
  return mistakes.map(text => `- ${text}.`).join('\n')
}
