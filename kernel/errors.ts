import { type CodedErrorClass, defineError } from '../lib/errors/http-error.ts'

export const KERNEL_NO_ROUTE: CodedErrorClass<[method: string, url: string, origin: string]> = defineError(
  'KERNEL_NO_ROUTE',
  404,
  'No route found for "%s %s"%s',
)

export const KERNEL_METHOD_NOT_ALLOWED: CodedErrorClass<[method: string, url: string, allow: string]> = defineError(
  'KERNEL_METHOD_NOT_ALLOWED',
  405,
  'No route found for "%s %s": Method Not Allowed (Allow: %s)',
)

export const KERNEL_CONTROLLER_MISSING: CodedErrorClass<[path: string]> = defineError(
  'KERNEL_CONTROLLER_MISSING',
  404,
  'Unable to find the controller for path "%s". The request has no attribute "_controller": is createFrameworkBundle() in the list of bundles?',
)

export const KERNEL_CONTROLLER_INVALID: CodedErrorClass<[controller: string, suggestion: string]> = defineError(
  'KERNEL_CONTROLLER_INVALID',
  500,
  'The controller %s is neither a function, nor made by defineController(), nor the name of a registered controller%s.',
)

export const KERNEL_ARGUMENT_MISSING: CodedErrorClass<[parameter: string, route: string]> = defineError(
  'KERNEL_ARGUMENT_MISSING',
  500,
  'The controller needs the route parameter "%s", but the route "%s" has no such parameter.',
)

export const KERNEL_ROUTE_VALUE_INVALID: CodedErrorClass<[parameter: string, expected: string, value: string]> =
  defineError('KERNEL_ROUTE_VALUE_INVALID', 404, 'The route parameter "%s" must be %s, not "%s".')

export const KERNEL_QUERY_VALUE_INVALID: CodedErrorClass<[parameter: string, expected: string, value: string]> =
  defineError('KERNEL_QUERY_VALUE_INVALID', 400, 'The query parameter "%s" must be %s, not "%s".')

export const KERNEL_QUERY_VALUE_MISSING: CodedErrorClass<[parameter: string]> = defineError(
  'KERNEL_QUERY_VALUE_MISSING',
  400,
  'The query parameter "%s" is missing.',
)

export const KERNEL_INPUT_REFUSED: CodedErrorClass<[input: string, issues: string]> = defineError(
  'KERNEL_INPUT_REFUSED',
  422,
  'The %s does not fit its schema: %s',
)

export const KERNEL_ROUTE_REFUSED: CodedErrorClass<[issues: string]> = defineError(
  'KERNEL_ROUTE_REFUSED',
  404,
  'The parameters of the route do not fit their schema: %s',
)

export const KERNEL_SCHEMA_INVALID: CodedErrorClass<[argument: string, value: string]> = defineError(
  'KERNEL_SCHEMA_INVALID',
  500,
  '%s() needs a schema that follows Standard Schema, such as those of valibot, zod and ArkType, but it got %s.',
)

export const KERNEL_CONVERSION_INVALID: CodedErrorClass<[argument: string, found: string]> = defineError(
  'KERNEL_CONVERSION_INVALID',
  500,
  '%s needs a conversion, such as asInteger, but it got %s.',
)

export const KERNEL_HEADER_INVALID: CodedErrorClass<[name: string, expected: string]> = defineError(
  'KERNEL_HEADER_INVALID',
  400,
  'The header "%s" must be %s.',
)

export const KERNEL_HEADER_MISSING: CodedErrorClass<[name: string]> = defineError(
  'KERNEL_HEADER_MISSING',
  400,
  'The header "%s" is missing.',
)

export const KERNEL_COOKIE_INVALID: CodedErrorClass<[name: string, expected: string]> = defineError(
  'KERNEL_COOKIE_INVALID',
  400,
  'The cookie "%s" must be %s.',
)

export const KERNEL_COOKIE_MISSING: CodedErrorClass<[name: string]> = defineError(
  'KERNEL_COOKIE_MISSING',
  400,
  'The cookie "%s" is missing.',
)

export const KERNEL_FILE_MISSING: CodedErrorClass<[name: string]> = defineError(
  'KERNEL_FILE_MISSING',
  422,
  'The form has no file "%s".',
)

export const KERNEL_NO_RESPONSE: CodedErrorClass<[returned: string]> = defineError(
  'KERNEL_NO_RESPONSE',
  500,
  'The controller must return a "Response" object but it returned %s',
)

export const KERNEL_RESPONSE_INVALID: CodedErrorClass<[found: string]> = defineError(
  'KERNEL_RESPONSE_INVALID',
  500,
  'A listener must give a "Response" object but it gave %s',
)

export const KERNEL_RESPONSE_THROWN: CodedErrorClass<[]> = defineError(
  'KERNEL_RESPONSE_THROWN',
  500,
  'A response was thrown: a controller returns it, and a listener passes it to event.respond(response).',
)

export const KERNEL_TOO_DEEP: CodedErrorClass<[limit: number]> = defineError(
  'KERNEL_TOO_DEEP',
  500,
  'Sub-requests are nested more than %s deep: probably one of them requests itself.',
)

export const KERNEL_FRAGMENT_FAILED: CodedErrorClass<[target: string, status: number]> = defineError(
  'KERNEL_FRAGMENT_FAILED',
  500,
  'The fragment "%s" was answered with the status %s.',
)

export const KERNEL_BUNDLE_INVALID: CodedErrorClass<[position: number, found: string, advice: string]> = defineError(
  'KERNEL_BUNDLE_INVALID',
  500,
  'The list of bundles is wrong: number %s is %s. A bundle is an object with a name and the method register().%s',
)

export const KERNEL_BUNDLES_MISSING: CodedErrorClass<[found: string]> = defineError(
  'KERNEL_BUNDLES_MISSING',
  500,
  'The list of bundles is %s: loadBundles() returns an array of bundles.',
)

export const KERNEL_BUNDLE_KEY_INVALID: CodedErrorClass<[name: string, mistake: string]> = defineError(
  'KERNEL_BUNDLE_KEY_INVALID',
  500,
  'The bundle "%s" cannot be used: %s.',
)

export const KERNEL_BUNDLE_WAITING: CodedErrorClass<[]> = defineError(
  'KERNEL_BUNDLE_WAITING',
  500,
  'It waits for a promise, but no timer, connection or other work is left that could settle the promise.',
)

export const KERNEL_CONTRIBUTION_INVALID: CodedErrorClass<[noun: string, mistake: string]> = defineError(
  'KERNEL_CONTRIBUTION_INVALID',
  500,
  '%s that was added cannot be used: %s.',
)

export const KERNEL_RESULT_UNUSED: CodedErrorClass<[listener: string, call: string]> = defineError(
  'KERNEL_RESULT_UNUSED',
  500,
  'The listener %s has returned a response, which has no effect: write %s.',
)

export const KERNEL_BUNDLE_REPEATED: CodedErrorClass<[name: string]> = defineError(
  'KERNEL_BUNDLE_REPEATED',
  500,
  'The bundle "%s" is listed twice.',
)

export const KERNEL_BUNDLE_FAILED: CodedErrorClass<[name: string, step: string, reason: string]> = defineError(
  'KERNEL_BUNDLE_FAILED',
  500,
  'The bundle "%s" failed in %s(): %s',
)

export const KERNEL_COLLECTOR_TAKEN: CodedErrorClass<[bundle: string, name: string, takenBy: string]> = defineError(
  'KERNEL_COLLECTOR_TAKEN',
  500,
  'The bundle "%s" has a collector "%s", but %s has one of that name: give it another name.',
)

export const KERNEL_COMMAND_TAKEN: CodedErrorClass<[name: string, first: string, second: string]> = defineError(
  'KERNEL_COMMAND_TAKEN',
  500,
  'Two commands are named "%s": "%s" and "%s". Rename one of them.',
)

export const KERNEL_FILE_UNKNOWN: CodedErrorClass<[name: unknown]> = defineError(
  'KERNEL_FILE_UNKNOWN',
  500,
  'There is no static file "%s"; files lie in the assets folder of their bundle, as in "site/site.css".',
)
