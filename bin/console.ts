import path from 'node:path'
import { parseArgs } from 'node:util'
import { loadBundles } from '../bundles/index.ts'
import type { Bundle } from '../kernel/bundle.ts'
import { type CommandSource, CommandUsageError, type ConsoleCommand, exitCodes } from '../kernel/console-command.ts'
import { KERNEL_COMMAND_TAKEN } from '../kernel/errors.ts'
import { Kernel } from '../kernel/kernel.ts'
import { Output } from '../lib/console/output.ts'
import { type Config, parseConfig } from '../lib/env/config.ts'
import { readDotenv } from '../lib/env/dotenv.ts'
import { createLogger } from '../lib/log/create-logger.ts'
import { Redactor } from '../lib/redact/redactor.ts'
import { escapeControls } from '../lib/text/escape-controls.ts'
import { createCompletionCommand, suggestWords } from './console-completion.ts'
import { type ConsoleTerminal, runCommandLine } from './console-program.ts'
import { describeFailure } from './describe-failure.ts'

/** Which application has its commands run; the one of this project unless told else. */
export interface ConsoleApplication {
  readonly load?: (config: Config) => Promise<readonly Bundle[]>
  readonly directory?: string
}

/** Compiled, this file lies in dist/bin. */
const root = path.join(import.meta.dirname, '../..')

/** Asks for words that may stand last on a command line: the scripts for shells do. */
const completionWord = '__complete'

/** Runs a command of the application, without a server; gives the exit code. Never rejects. */
export async function runConsole(
  commandLine: readonly string[],
  terminal: ConsoleTerminal,
  { load = loadBundles, directory = root }: ConsoleApplication = {},
): Promise<number> {
  const output = new Output(terminal)
  try {
    const { variables, dotenvNames } = readDotenv(directory, terminal.env, readEnvironment(commandLine))
    const config = parseConfig(variables, dotenvNames)
    const redactor = new Redactor(variables)
    // Results are on stdout; what is logged on the way there is of interest when something is wrong.
    const logger = createLogger({ level: 'warning', format: 'readable', stream: terminal.stderr, redactor })
    const kernel = await Kernel.assemble({ config, directory, bundles: await load(config), logger, redactor })
    try {
      return await run(await loadCommands(kernel.app.commands), commandLine, terminal, config)
    } finally {
      await kernel.close()
    }
  } catch (error) {
    output.error(describeFailure(error))
    return error instanceof CommandUsageError ? exitCodes.usage : exitCodes.failure
  }
}

async function loadCommands(sources: readonly CommandSource[]): Promise<ConsoleCommand[]> {
  const loaded = sources.map(source => (typeof source === 'function' ? source() : [source]))
  const commands = (await Promise.all(loaded)).flat()
  for (const { name } of commands) {
    const [first, second] = commands.filter(command => command.name === name)
    if (first !== undefined && second !== undefined) {
      throw new KERNEL_COMMAND_TAKEN([name, first.description, second.description])
    }
  }
  return commands
}

async function run(
  commands: ConsoleCommand[],
  commandLine: readonly string[],
  terminal: ConsoleTerminal,
  { environment }: Config,
): Promise<number> {
  commands.push(createCompletionCommand(text => terminal.stdout.write(text)))
  if (commandLine[0] !== completionWord) return runCommandLine(commands, commandLine, terminal, environment)
  const words = await suggestWords(commands, commandLine.slice(1))
  terminal.stdout.write(words.map(pair => `${pair.map(escapeControls).join('\t')}\n`).join(''))
  return exitCodes.success
}

/** Which commands there are depends on it. */
function readEnvironment(commandLine: readonly string[]): string | undefined {
  // While a word is being written, it is no environment.
  const args = commandLine[0] === completionWord ? commandLine.slice(0, -1) : commandLine
  const { values } = parseArgs({ args: [...args], options: { env: { type: 'string' } }, strict: false })
  return typeof values.env === 'string' ? values.env : undefined
}
