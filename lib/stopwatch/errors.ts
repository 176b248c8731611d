import { type CodedErrorClass, defineError } from '../errors/http-error.ts'

/** A measurement is stopped that is not running. Start it first. */
export const STOPWATCH_NOT_STARTED: CodedErrorClass<[name: string, running: string]> = defineError(
  'STOPWATCH_NOT_STARTED',
  500,
  'The stopwatch event "%s" cannot be stopped because it is not running. Running: %s.',
)
