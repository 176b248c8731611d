import { type CodedErrorClass, defineError } from '../errors/http-error.ts'

export const STOPWATCH_NOT_STARTED: CodedErrorClass<[name: string, running: string]> = defineError(
  'STOPWATCH_NOT_STARTED',
  500,
  'The stopwatch event "%s" cannot be stopped: it is not running. Running: %s.',
)

export const STOPWATCH_SECTION_NOT_OPEN: CodedErrorClass<[id: string, open: string]> = defineError(
  'STOPWATCH_SECTION_NOT_OPEN',
  500,
  'The stopwatch section "%s" cannot be stopped: it is not open. Open: %s.',
)

export const STOPWATCH_SECTION_OPEN: CodedErrorClass<[id: string]> = defineError(
  'STOPWATCH_SECTION_OPEN',
  500,
  'The stopwatch section "%s" is open already; stop it before it is opened again.',
)
