import { type CodedErrorClass, defineError } from '../../../../lib/errors/http-error.ts'

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
