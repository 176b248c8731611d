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

export const PROFILER_MCP_OFF: CodedErrorClass<[]> = defineError(
  'PROFILER_MCP_OFF',
  404,
  'Coding agents are not answered here: PROFILER_MCP=1 turns it on.',
)

export const PROFILER_MCP_PACKAGE_MISSING: CodedErrorClass<[]> = defineError(
  'PROFILER_MCP_PACKAGE_MISSING',
  501,
  'The package for coding agents is not installed: npm install @modelcontextprotocol/sdk',
)
