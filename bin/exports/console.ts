/// <reference types="node" preserve="true" />
// For bundles that add commands to bin/console, and for the list of bundles: the commands that generate code.
export { makerBundle } from '../../bundles/maker/maker-bundle.ts'
export {
  type CommandArgument,
  type CommandExample,
  type CommandInput,
  type CommandOption,
  type CommandSource,
  CommandUsageError,
  type ConsoleCommand,
  type ExitCode,
  exitCodes,
  type Suggestions,
} from '../../kernel/contracts/console-command.ts'
export type { Block, Document, Table } from '../../lib/console/document.ts'
export type { Output } from '../../lib/console/output.ts'
