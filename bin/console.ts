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

/** The application whose commands are run; by default the one of this project. */
export interface ConsoleApplication {
  readonly load?: (config: Config) => Promise<readonly Bundle[]>
  readonly directory?: string
}

/** Compiled, this file lies in dist/bin. */
const root = path.join(import.meta.dirname, '../..')

/** The command by which the shell scripts ask for the words that can complete a command line. */
const completionWord = '__complete'

/** Runs a command of the application, without a server. Resolves with the exit code and never rejects. */
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
    // Results go to stdout, so the log goes to stderr, and only warnings and errors are of interest.
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

/** The environment is needed before the command line is parsed: bundles and their commands depend on it. */
function readEnvironment(commandLine: readonly string[]): string | undefined {
  // The last word is still being typed: it is not an environment yet.
  const args = commandLine[0] === completionWord ? commandLine.slice(0, -1) : commandLine
  const { values } = parseArgs({ args: [...args], options: { env: { type: 'string' } }, strict: false })
  return typeof values.env === 'string' ? values.env : undefined
}
