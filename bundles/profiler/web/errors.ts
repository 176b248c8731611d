import { type CodedErrorClass, defineError } from '../../../lib/errors/http-error.ts'

export const PROFILER_FILE_CLOSED: CodedErrorClass<[file: string]> = defineError(
  'PROFILER_FILE_CLOSED',
  404,
  'The file "%s" cannot be opened.',
)

export const PROFILER_ASSET_UNKNOWN: CodedErrorClass<[file: string]> = defineError(
  'PROFILER_ASSET_UNKNOWN',
  404,
  'The profiler has no asset "%s".',
)
