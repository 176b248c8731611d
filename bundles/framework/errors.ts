import { type CodedErrorClass, defineError } from '../../lib/errors/http-error.ts'

export const FRAMEWORK_OPTIONS_INVALID: CodedErrorClass<[mistakes: string]> = defineError(
  'FRAMEWORK_OPTIONS_INVALID',
  500,
  'The options of createFrameworkBundle() have mistakes:\n%s',
)

export const FRAMEWORK_HEALTH_TIMEOUT: CodedErrorClass<[name: string, timeout: number]> = defineError(
  'FRAMEWORK_HEALTH_TIMEOUT',
  503,
  'The health check "%s" did not end within %s ms.',
)

export const FRAMEWORK_CORS_INVALID: CodedErrorClass<[route: string, mistakes: string]> = defineError(
  'FRAMEWORK_CORS_INVALID',
  500,
  'The CORS policy of the route "%s" has mistakes:\n%s',
)
