import { type CodedErrorClass, defineError } from '../errors/http-error.ts'

export const ROUTE_DEFINITION_INVALID: CodedErrorClass<[name: string, reason: string]> = defineError(
  'ROUTE_DEFINITION_INVALID',
  500,
  'The route "%s" cannot be used: %s.',
)

export const ROUTE_NAME_TAKEN: CodedErrorClass<[name: string, path: string, takenBy: string]> = defineError(
  'ROUTE_NAME_TAKEN',
  500,
  'The name "%s" cannot be given to the route %s: the route %s already has it.',
)

export const ROUTE_GROUP_INVALID: CodedErrorClass<[group: string, reason: string]> = defineError(
  'ROUTE_GROUP_INVALID',
  500,
  'The route group "%s" cannot be used: %s.',
)

/** The cause of a 404. The path is as it was sent, but without slashes at its end unless it consists of slashes. */
export const ROUTE_NOT_FOUND: CodedErrorClass<[path: string]> = defineError(
  'ROUTE_NOT_FOUND',
  404,
  'No routes found for "%s".',
)

/** The cause of a 405. As in Symfony it has no message: the error with this cause has one. */
export const ROUTE_METHOD_NOT_ALLOWED: CodedErrorClass<[]> = defineError('ROUTE_METHOD_NOT_ALLOWED', 405, '')

export const ROUTE_UNKNOWN: CodedErrorClass<[name: string, suggestion: string]> = defineError(
  'ROUTE_UNKNOWN',
  500,
  'There is no route "%s"%s.',
)

export const ROUTE_PARAMETER_MISSING: CodedErrorClass<[route: string, names: string]> = defineError(
  'ROUTE_PARAMETER_MISSING',
  500,
  'The URL of the route "%s" cannot be generated without %s.',
)

export const ROUTE_PARAMETER_INVALID: CodedErrorClass<[route: string, reason: string]> = defineError(
  'ROUTE_PARAMETER_INVALID',
  500,
  'The URL of the route "%s" cannot be generated from these parameters: %s.',
)

export const ROUTE_ORIGIN_UNKNOWN: CodedErrorClass<[route: string]> = defineError(
  'ROUTE_ORIGIN_UNKNOWN',
  500,
  'The URL of the route "%s" must be absolute, but there is no request with a host: pass the request, or set APP_URL, such as https://example.org.',
)
