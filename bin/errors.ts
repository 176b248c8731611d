import { type CodedErrorClass, defineError } from '../lib/errors/http-error.ts'

export const APPLICATION_BUNDLES_MISSING: CodedErrorClass<[file: string]> = defineError(
  'APPLICATION_BUNDLES_MISSING',
  500,
  'There is no list of bundles: the file %s does not exist. It must export a function "loadBundles".',
)

export const APPLICATION_BUNDLES_INVALID: CodedErrorClass<[file: string]> = defineError(
  'APPLICATION_BUNDLES_INVALID',
  500,
  'The file %s must export a function "loadBundles", which returns the list of bundles.',
)

export const APPLICATION_BUNDLES_FAILED: CodedErrorClass<[reason: string]> = defineError(
  'APPLICATION_BUNDLES_FAILED',
  500,
  'The bundles cannot be loaded: %s',
)

export const APPLICATION_NOT_COMPILED: CodedErrorClass<[directory: string]> = defineError(
  'APPLICATION_NOT_COMPILED',
  500,
  'The application in %s cannot be compiled. Correct the errors above, and start again.',
)

export const APPLICATION_INSTRUMENTATION_INVALID: CodedErrorClass<[file: string]> = defineError(
  'APPLICATION_INSTRUMENTATION_INVALID',
  500,
  'The file %s must export a list "instrumentations" of OpenTelemetry instrumentations, such as [new PgInstrumentation()].',
)

export const APPLICATION_INSTRUMENTATION_MISSING: CodedErrorClass<[file: string, name: string, same: string]> =
  defineError(
    'APPLICATION_INSTRUMENTATION_MISSING',
    500,
    'The file %s needs the package "%s", which is not installed: npm install %s',
  )
