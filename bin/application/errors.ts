import { type CodedErrorClass, defineError } from '../../lib/errors/http-error.ts'

/**
 * There is no `bundles/index.ts` (or no `dist/bundles/index.js`, its compiled file). Write it, with a function
 * `createBundles`: see docs/guides/application.md#the-files.
 */
export const APPLICATION_BUNDLES_MISSING: CodedErrorClass<[file: string]> = defineError(
  'APPLICATION_BUNDLES_MISSING',
  500,
  'There is no list of bundles: the file %s does not exist. It must export a function "createBundles".',
)

/** `bundles/index.ts` does not export a function `createBundles`. Export it. */
export const APPLICATION_BUNDLES_INVALID: CodedErrorClass<[file: string]> = defineError(
  'APPLICATION_BUNDLES_INVALID',
  500,
  'The file %s must export a function "createBundles", which returns the list of bundles.',
)

/**
 * `createBundles` throws a foreseen error, such as that of a wrong option. Correct the reason in the message, which is
 * also the `cause`.
 */
export const APPLICATION_BUNDLES_FAILED: CodedErrorClass<[reason: string]> = defineError(
  'APPLICATION_BUNDLES_FAILED',
  500,
  'The bundles cannot be loaded: %s',
)

/** `bootApplication` has compiled the application, with errors. Correct the errors, which the compiler has printed. */
export const APPLICATION_NOT_COMPILED: CodedErrorClass<[directory: string]> = defineError(
  'APPLICATION_NOT_COMPILED',
  500,
  'The application in %s cannot be compiled. Correct the errors above, and start again.',
)

/** `instrumentation.ts` exports no list `instrumentations`. Export the list. */
export const APPLICATION_INSTRUMENTATION_INVALID: CodedErrorClass<[file: string]> = defineError(
  'APPLICATION_INSTRUMENTATION_INVALID',
  500,
  'The file %s must export a list "instrumentations" of OpenTelemetry instrumentations, such as [new PgInstrumentation()].',
)

/** `instrumentation.ts` needs a package that is not installed. Install it. */
export const APPLICATION_INSTRUMENTATION_MISSING: CodedErrorClass<[file: string, name: string, same: string]> =
  defineError(
    'APPLICATION_INSTRUMENTATION_MISSING',
    500,
    'The file %s needs the package "%s", which is not installed: npm install %s',
  )
