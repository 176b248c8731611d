import type { CommandArgument, CommandOption } from '../../../kernel/console-command.ts'

/** Describes the argument that names what is made. */
export function nameArgument(example: string): CommandArgument {
  return { name: 'name', description: `its name in lower case with hyphens, such as ${example}` }
}

/** Writes nothing. */
export const dryRunOption: CommandOption = {
  name: 'dry-run',
  description: 'tells what would be written, and writes nothing',
}
