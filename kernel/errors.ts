import { type CodedErrorClass, defineError } from '../lib/errors/http-error.ts'

/** No route matches the request. Declare a route, or correct the link. */
export const KERNEL_NO_ROUTE: CodedErrorClass<[method: string, url: string, origin: string]> = defineError(
  'KERNEL_NO_ROUTE',
  404,
  'No route found for "%s %s"%s',
)

/** No route of the path accepts the method. Use one of `Allow`. */
export const KERNEL_METHOD_NOT_ALLOWED: CodedErrorClass<[method: string, url: string, allow: string]> = defineError(
  'KERNEL_METHOD_NOT_ALLOWED',
  405,
  'No route found for "%s %s": Method Not Allowed (Allow: %s)',
)

/**
 * A request has no `_controller` after routing. Add `createFrameworkBundle()` to the list of bundles, or set the
 * attribute.
 */
export const KERNEL_CONTROLLER_MISSING: CodedErrorClass<[path: string]> = defineError(
  'KERNEL_CONTROLLER_MISSING',
  404,
  'Unable to find the controller for path "%s". The request has no attribute "_controller": is createFrameworkBundle() in the list of bundles?',
)

/**
 * `_controller` is not a controller, or `decorate` names an unknown one. Use a function, `defineController()`, or a
 * registered name; list the framework bundle first.
 */
export const KERNEL_CONTROLLER_INVALID: CodedErrorClass<[controller: string, suggestion: string]> = defineError(
  'KERNEL_CONTROLLER_INVALID',
  500,
  'The controller %s is neither a function, nor made by defineController(), nor the name of a registered controller%s.',
)

/** A controller declares a route parameter that its route does not have. Correct the name, or the path. */
export const KERNEL_ARGUMENT_MISSING: CodedErrorClass<[parameter: string, route: string]> = defineError(
  'KERNEL_ARGUMENT_MISSING',
  500,
  'The controller needs the route parameter "%s", but the route "%s" has no such parameter.',
)

/** A route parameter cannot be converted. Nothing needs to be done; a requirement lets other routes match. */
export const KERNEL_ROUTE_VALUE_INVALID: CodedErrorClass<[parameter: string, expected: string, value: string]> =
  defineError('KERNEL_ROUTE_VALUE_INVALID', 404, 'The route parameter "%s" must be %s, not "%s".')

/** A query parameter cannot be converted. Send a value as the message says. */
export const KERNEL_QUERY_VALUE_INVALID: CodedErrorClass<[parameter: string, expected: string, value: string]> =
  defineError('KERNEL_QUERY_VALUE_INVALID', 400, 'The query parameter "%s" must be %s, not "%s".')

/** A query parameter without a fallback is missing. Send it. */
export const KERNEL_QUERY_VALUE_MISSING: CodedErrorClass<[parameter: string, suggestion: string]> = defineError(
  'KERNEL_QUERY_VALUE_MISSING',
  400,
  'The query parameter "%s" is missing%s.',
)

/** A schema refuses a JSON body, a form or a query. Correct the values that `errors` lists. */
export const KERNEL_INPUT_REFUSED: CodedErrorClass<[input: string, issues: string]> = defineError(
  'KERNEL_INPUT_REFUSED',
  422,
  'The %s does not fit its schema: %s',
)

/** A schema refuses the parameters of a route. Nothing needs to be done; a requirement lets other routes match. */
export const KERNEL_ROUTE_REFUSED: CodedErrorClass<[issues: string]> = defineError(
  'KERNEL_ROUTE_REFUSED',
  404,
  'The parameters of the route do not fit their schema: %s',
)

/**
 * `jsonBody`, `formBody`, `checkedForm`, `queryValues` or `routeParameters` did not get a schema. Pass a schema of a
 * library that follows Standard Schema, and check its import: see docs/guides/validation.md.
 */
export const KERNEL_SCHEMA_INVALID: CodedErrorClass<[argument: string, value: string]> = defineError(
  'KERNEL_SCHEMA_INVALID',
  500,
  '%s() needs a schema that follows Standard Schema, such as those of valibot, zod and ArkType, but it got %s.',
)

/**
 * `routeParameter`, `queryValue`, `headerValue` or `cookieValue` gets something else than a conversion, such as
 * `Number`. Pass a conversion such as `asInteger`; a fallback is the third argument.
 */
export const KERNEL_CONVERSION_INVALID: CodedErrorClass<[argument: string, found: string]> = defineError(
  'KERNEL_CONVERSION_INVALID',
  500,
  '%s needs a conversion, such as asInteger, but it got %s.',
)

/** A header cannot be converted; its value may be secret, and is not shown. Send a value as the message says. */
export const KERNEL_HEADER_INVALID: CodedErrorClass<[name: string, expected: string]> = defineError(
  'KERNEL_HEADER_INVALID',
  400,
  'The header "%s" must be %s.',
)

/** A header without a fallback is missing. Send it. */
export const KERNEL_HEADER_MISSING: CodedErrorClass<[name: string, suggestion: string]> = defineError(
  'KERNEL_HEADER_MISSING',
  400,
  'The header "%s" is missing%s.',
)

/** A cookie cannot be converted; its value is not shown. Delete the cookie, or add a fallback. */
export const KERNEL_COOKIE_INVALID: CodedErrorClass<[name: string, expected: string]> = defineError(
  'KERNEL_COOKIE_INVALID',
  400,
  'The cookie "%s" must be %s.',
)

/** A cookie without a fallback is missing. Allow cookies, or add a fallback. */
export const KERNEL_COOKIE_MISSING: CodedErrorClass<[name: string, suggestion: string]> = defineError(
  'KERNEL_COOKIE_MISSING',
  400,
  'The cookie "%s" is missing%s.',
)

/**
 * A form has no file of this name, or none was chosen. Choose a file; of a form with `enctype="multipart/form-data"`.
 */
export const KERNEL_FILE_MISSING: CodedErrorClass<[name: string, explanation: string]> = defineError(
  'KERNEL_FILE_MISSING',
  422,
  'The form has no file "%s"%s.',
)

/** A controller has not returned a Response, and no listener of `kernel.view` has made one. Return a Response. */
export const KERNEL_NO_RESPONSE: CodedErrorClass<[returned: string]> = defineError(
  'KERNEL_NO_RESPONSE',
  500,
  'The controller must return a "Response" object but it returned %s',
)

/** A listener has replaced the response by another value. Set a Response. */
export const KERNEL_RESPONSE_INVALID: CodedErrorClass<[found: string]> = defineError(
  'KERNEL_RESPONSE_INVALID',
  500,
  'A listener must give a "Response" object but it gave %s',
)

/**
 * A controller or a listener throws a Response. Return it from the controller; pass it to `event.respond(response)` in
 * a listener.
 */
export const KERNEL_RESPONSE_THROWN: CodedErrorClass<[]> = defineError(
  'KERNEL_RESPONSE_THROWN',
  500,
  'A response was thrown: a controller returns it, and a listener passes it to event.respond(response).',
)

/** More than ten sub-requests are nested. Find the template or controller that requests itself. */
export const KERNEL_TOO_DEEP: CodedErrorClass<[limit: number]> = defineError(
  'KERNEL_TOO_DEEP',
  500,
  'Sub-requests are nested more than %s deep: probably one of them requests itself.',
)

/**
 * `{{render}}` has failed, or its answer is an error, a redirect, or not text. Correct the route that the message
 * names, and insert none with a guard that leads to a login.
 */
export const KERNEL_FRAGMENT_FAILED: CodedErrorClass<[target: string, status: string]> = defineError(
  'KERNEL_FRAGMENT_FAILED',
  500,
  'The fragment "%s" was answered with the status %s.',
)

/**
 * The list of bundles contains a value that is not a bundle, such as `createFrameworkBundle`. List a bundle:
 * `createFrameworkBundle()`.
 */
export const KERNEL_BUNDLE_INVALID: CodedErrorClass<[position: number, found: string, advice: string]> = defineError(
  'KERNEL_BUNDLE_INVALID',
  500,
  'The list of bundles is wrong: number %s is %s. A bundle is an object with a name and the method register().%s',
)

/** `createBundles` returns no list, or `serve` gets none. Use an array of bundles. */
export const KERNEL_BUNDLES_MISSING: CodedErrorClass<[found: string]> = defineError(
  'KERNEL_BUNDLES_MISSING',
  500,
  'The list of bundles is %s: it must be an array, which createBundles() in bundles/index.ts returns.',
)

/**
 * A bundle has a value of a wrong type, or a plain object has a key that bundles do not have. Correct the key, or
 * make the bundle a class.
 */
export const KERNEL_BUNDLE_KEY_INVALID: CodedErrorClass<[name: string, mistake: string]> = defineError(
  'KERNEL_BUNDLE_KEY_INVALID',
  500,
  'The bundle "%s" cannot be used: %s.',
)

/**
 * `register` or `close` waits for a promise that nothing is left to settle; the cause of `KERNEL_BUNDLE_FAILED`. Settle
 * the promise, or do not wait for it. A bundle that is still in `register` or `close` after ten seconds is logged.
 */
export const KERNEL_BUNDLE_WAITING: CodedErrorClass<[]> = defineError(
  'KERNEL_BUNDLE_WAITING',
  500,
  'It waits for a promise, but no timer, connection or other work is left that could settle the promise.',
)

/** What a bundle adds has an unknown key, or lacks a required one. Correct the key that the message names. */
export const KERNEL_CONTRIBUTION_INVALID: CodedErrorClass<[noun: string, mistake: string]> = defineError(
  'KERNEL_CONTRIBUTION_INVALID',
  500,
  '%s that was added cannot be used: %s.',
)

/**
 * A listener returns a response, which has no effect. Pass it to `event.respond(response)`; a listener of
 * `kernel.response` assigns it: `event.response = response`.
 */
export const KERNEL_RESULT_UNUSED: CodedErrorClass<[listener: string, call: string]> = defineError(
  'KERNEL_RESULT_UNUSED',
  500,
  'The listener %s has returned a response, which has no effect: write %s.',
)

/** Two entries of the list of bundles have one name. List a bundle once, and give each one a name of its own. */
export const KERNEL_BUNDLE_REPEATED: CodedErrorClass<[first: number, second: number, name: string]> = defineError(
  'KERNEL_BUNDLE_REPEATED',
  500,
  'The numbers %s and %s in the list of bundles are both named "%s": list a bundle once, and give each one a name of its own.',
)

/**
 * A bundle throws in `decorate`, `register` or `close`, or `register` returns definitions. Correct the reason in the
 * message, which is also the `cause`.
 */
export const KERNEL_BUNDLE_FAILED: CodedErrorClass<[name: string, step: string, reason: string]> = defineError(
  'KERNEL_BUNDLE_FAILED',
  500,
  'The bundle "%s" failed in %s(): %s',
)

/** A collector has the name of another collector, or of a panel of the profiler. Choose another name. */
export const KERNEL_COLLECTOR_TAKEN: CodedErrorClass<[bundle: string, name: string, takenBy: string]> = defineError(
  'KERNEL_COLLECTOR_TAKEN',
  500,
  'The bundle "%s" has a collector "%s", but %s has one of that name: give it another name.',
)

/** Two commands of `bin/console` have the same name; the message contains their descriptions. Rename one. */
export const KERNEL_COMMAND_TAKEN: CodedErrorClass<[name: string, first: string, second: string]> = defineError(
  'KERNEL_COMMAND_TAKEN',
  500,
  'Two commands are named "%s": "%s" and "%s". Rename one of them.',
)

/** `{{asset}}` with a computed name has an unknown file. Put the file into the bundle's `assets` folder. */
export const KERNEL_FILE_UNKNOWN: CodedErrorClass<[name: string, suggestion: string]> = defineError(
  'KERNEL_FILE_UNKNOWN',
  500,
  'There is no static file "%s"%s. Files are in the folder "assets" of their bundle: "site/site.css".',
)
