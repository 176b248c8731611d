import { parseArgs } from 'node:util'
import { createDebugConfig } from '../bundles/framework/commands/debug-config.ts'
import { type CommandSource, CommandUsageError, type ConsoleCommand, exitCodes } from '../kernel/console-command.ts'
import { KERNEL_COMMAND_TAKEN } from '../kernel/errors.ts'
import { Output } from '../lib/console/output.ts'
import type { Config } from '../lib/env/config.ts'
import { CONFIG_INVALID } from '../lib/env/errors.ts'
import { escapeControls } from '../lib/text/escape-controls.ts'
import { createProcessLogger, type LoadBundles, loadApplication, readSettings } from './application.ts'
import { createCompletionCommand, suggestWords } from './console-completion.ts'
import { type ConsoleTerminal, runCommandLine } from './console-program.ts'
import { describeFailure } from './describe-failure.ts'

/** The command by which the shell scripts ask for the words that can complete a command line. */
const completionWord = '__complete'

/** Runs a command of the application in a directory in this process, and ends the process. */
export async function runConsoleProcess(directory: string, commandLine: readonly string[]): Promise<void> {
  const { env, stderr, stdin, stdout } = process
  const interrupted = new AbortController()
  // A reader that has closed the pipe (`| head`) has seen enough: that is no failure.
  stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1))
  stderr.on('error', () => undefined)
  for (const signal of ['SIGINT', 'SIGTERM']) {
    process.on(signal, () => {
      interrupted.abort()
      // The exit code of a shell for Ctrl-C. A command that ignores the signal is ended here.
      setTimeout(() => process.exit(130), 500).unref()
    })
  }
  const code = await runCommand(directory, commandLine, { stdin, stdout, stderr, env, signal: interrupted.signal })
  // A full pipe takes its texts later. Handles that a bundle has left open must not keep the process.
  stdout.write('', () => process.exit(code))
}

/** Runs a command of the application in a directory, without a server. Resolves with the exit code and never rejects. */
export async function runCommand(
  directory: string,
  commandLine: readonly string[],
  terminal: ConsoleTerminal,
  load?: LoadBundles,
): Promise<number> {
  const output = new Output(terminal)
  try {
    const { command, environment } = readCommandLine(commandLine)
    const settings = readSettings(directory, terminal.env, environment)
    const { config } = settings
    // Results go to stdout, so the log goes to stderr, and only warnings and errors are of interest.
    const logger = createProcessLogger(settings, terminal.stderr, 'warning')
    const kernel = await loadApplication(settings, { load, logger, isServed: false, warns: false }).catch(
      async error => {
        // Bundles are not registered with wrong settings, but the list of settings helps to find them.
        const isListed = error instanceof CONFIG_INVALID && command === 'debug:config'
        if (isListed) await run([createDebugConfig({ ...settings, bundles: [] })], commandLine, terminal, config)
        throw error
      },
    )
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
function readCommandLine(commandLine: readonly string[]): {
  command: string | undefined
  environment: string | undefined
} {
  // The last word is still being typed: it is not an environment yet.
  const args = commandLine[0] === completionWord ? commandLine.slice(0, -1) : commandLine
  const { positionals, values } = parseArgs({ args: [...args], options: { env: { type: 'string' } }, strict: false })
  return { command: positionals[0], environment: typeof values.env === 'string' ? values.env : undefined }
}
