import { type CodedErrorClass, defineError } from '../../lib/errors/http-error.ts'

/** An endpoint for traces is set, and packages of OpenTelemetry are missing. Run the `npm install` of the message. */
export const OPENTELEMETRY_PACKAGE_MISSING: CodedErrorClass<[packages: string]> = defineError(
  'OPENTELEMETRY_PACKAGE_MISSING',
  500,
  'Tracing is on, but its packages are not installed: npm install %s',
)
