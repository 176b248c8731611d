import { type CodedErrorClass, defineError } from '../errors/http-error.ts'

/**
 * A part of a route is unknown or wrong, or its controller is, or needs a parameter that the route has not. Correct
 * the part that the message names.
 */
export const ROUTE_DEFINITION_INVALID: CodedErrorClass<[name: string, reason: string]> = defineError(
  'ROUTE_DEFINITION_INVALID',
  500,
  'The route "%s" cannot be used: %s.',
)

/** Two routes have the same name or alias. Rename one. */
export const ROUTE_NAME_TAKEN: CodedErrorClass<[name: string, path: string, takenBy: string]> = defineError(
  'ROUTE_NAME_TAKEN',
  500,
  'The name "%s" cannot be given to the route %s: the route %s already has it; choose another one.',
)

/** The prefix, a requirement or the function of a route group is wrong. Correct the part that the message names. */
export const ROUTE_GROUP_INVALID: CodedErrorClass<[group: string, reason: string]> = defineError(
  'ROUTE_GROUP_INVALID',
  500,
  'The route group "%s" cannot be used: %s.',
)

/** No route matches the path; the cause of `KERNEL_NO_ROUTE`. Declare a route, or correct the link. */
export const ROUTE_NOT_FOUND: CodedErrorClass<[path: string]> = defineError(
  'ROUTE_NOT_FOUND',
  404,
  // The path is as it was sent, but without slashes at its end unless it consists of slashes.
  'No routes found for "%s".',
)

/**
 * Routes match the path, but not the method; the cause of `KERNEL_METHOD_NOT_ALLOWED`. Use one of `Allow`, or declare
 * the method.
 */
export const ROUTE_METHOD_NOT_ALLOWED: CodedErrorClass<[]> = defineError(
  'ROUTE_METHOD_NOT_ALLOWED',
  405,
  // As in Symfony: the error with this cause has a message.
  '',
)

/** A URL is generated for an unknown route name. Use one of the names that the message suggests. */
export const ROUTE_UNKNOWN: CodedErrorClass<[name: string, suggestion: string]> = defineError(
  'ROUTE_UNKNOWN',
  500,
  'There is no route "%s"%s.',
)

/** A URL needs values that are missing. Pass all values that the message names. */
export const ROUTE_PARAMETER_MISSING: CodedErrorClass<[route: string, names: string]> = defineError(
  'ROUTE_PARAMETER_MISSING',
  500,
  'The URL of the route "%s" cannot be generated without %s.',
)

/** A URL with this value would not match the route. Pass another value. */
export const ROUTE_PARAMETER_INVALID: CodedErrorClass<[route: string, reason: string]> = defineError(
  'ROUTE_PARAMETER_INVALID',
  500,
  'The URL of the route "%s" cannot be generated from these parameters: %s.',
)

/**
 * An absolute URL is generated without a request with a host, and without `APP_URL`. Pass the request, or set
 * `APP_URL`.
 */
export const ROUTE_ORIGIN_UNKNOWN: CodedErrorClass<[route: string]> = defineError(
  'ROUTE_ORIGIN_UNKNOWN',
  500,
  'The URL of the route "%s" must be absolute, but there is no request with a host: pass the request, or set APP_URL, such as https://example.org.',
)
