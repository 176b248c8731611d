import { type CodedErrorClass, defineError } from '../errors/http-error.ts'

export const ROUTE_DEFINITION_INVALID: CodedErrorClass<[name: string, reason: string]> = defineError(
  'ROUTE_DEFINITION_INVALID',
  500,
  'The route "%s" cannot be used: %s.',
)

export const ROUTE_NAME_TAKEN: CodedErrorClass<[name: string, path: string, takenBy: string]> = defineError(
  'ROUTE_NAME_TAKEN',
  500,
  'The name "%s" cannot stand for the route %s: it already stands for %s.',
)

/** The cause of a 404. The path is the one that was sent; it never ends in a slash unless it consists of slashes. */
export const ROUTE_NOT_FOUND: CodedErrorClass<[path: string]> = defineError(
  'ROUTE_NOT_FOUND',
  404,
  'No routes found for "%s".',
)

/** The cause of a 405; without a message, as in Symfony: the error that it causes says everything. */
export const ROUTE_METHOD_NOT_ALLOWED: CodedErrorClass<[]> = defineError('ROUTE_METHOD_NOT_ALLOWED', 405, '')

export const ROUTE_UNKNOWN: CodedErrorClass<[name: string, suggestion: string]> = defineError(
  'ROUTE_UNKNOWN',
  500,
  'There is no route "%s"%s.',
)

export const ROUTE_PARAMETER_MISSING: CodedErrorClass<[route: string, names: string]> = defineError(
  'ROUTE_PARAMETER_MISSING',
  500,
  'The URL of the route "%s" cannot be made without %s.',
)

export const ROUTE_PARAMETER_INVALID: CodedErrorClass<[route: string, reason: string]> = defineError(
  'ROUTE_PARAMETER_INVALID',
  500,
  'The URL of the route "%s" cannot be made of these parameters: %s.',
)

export const ROUTE_ORIGIN_UNKNOWN: CodedErrorClass<[route: string]> = defineError(
  'ROUTE_ORIGIN_UNKNOWN',
  500,
  'The URL of the route "%s" must be absolute, which takes a request that has a host.',
)
