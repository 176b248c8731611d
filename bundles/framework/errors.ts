import { type CodedErrorClass, defineError } from '../../lib/errors/http-error.ts'

export const FRAMEWORK_OPTIONS_INVALID: CodedErrorClass<[mistakes: string]> = defineError(
  'FRAMEWORK_OPTIONS_INVALID',
  500,
  'The options of createFrameworkBundle() have mistakes:\n%s',
)
