import { type CodedErrorClass, defineError } from '../../../lib/errors/http-error.ts'

/** A source file is requested from `/_profiler/open`. Open it in an editor: the profiler opens no files. */
export const PROFILER_FILE_CLOSED: CodedErrorClass<[file: string]> = defineError(
  'PROFILER_FILE_CLOSED',
  404,
  'The file "%s" cannot be opened.',
)

/** An asset is requested with an unknown or outdated name. Reload the page. */
export const PROFILER_ASSET_UNKNOWN: CodedErrorClass<[file: string]> = defineError(
  'PROFILER_ASSET_UNKNOWN',
  404,
  'The profiler has no asset "%s".',
)

/** A coding agent sends a request to `/_profiler/mcp`, which is off. Set `PROFILER_MCP=1`. */
export const PROFILER_MCP_OFF: CodedErrorClass<[]> = defineError(
  'PROFILER_MCP_OFF',
  404,
  'Coding agents are not answered here: PROFILER_MCP=1 turns it on.',
)

/** A coding agent sends a request, and the SDK of MCP is not installed. Run the `npm install` of the message. */
export const PROFILER_MCP_PACKAGE_MISSING: CodedErrorClass<[packages: string]> = defineError(
  'PROFILER_MCP_PACKAGE_MISSING',
  501,
  'The packages for coding agents are not installed: npm install --save-dev %s',
)
