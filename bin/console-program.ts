import { createInterface } from 'node:readline/promises'
import type { Readable } from 'node:stream'
import { Argument, Command, CommanderError, Option } from 'commander'
import {
  type CommandInput,
  CommandUsageError,
  type ConsoleCommand,
  type ExitCode,
  exitCodes,
} from '../kernel/console-command.ts'
import { hasColours, Output, type OutputStream } from '../lib/console/output.ts'
import { paintColours } from '../lib/console/paint.ts'
import { environments } from '../lib/env/dotenv.ts'
import { version } from '../lib/package.ts'

/** Streams and environment of a command: those of the process, or those of a test. */
export interface ConsoleTerminal {
  readonly stdin: Readable & { readonly isTTY?: boolean }
  readonly stdout: OutputStream
  readonly stderr: OutputStream
  readonly env: Readonly<Record<string, string | undefined>>
  /** Aborted when the user presses Ctrl-C. */
  readonly signal: AbortSignal
}

/** Runs the command of a command line, or prints what is wrong with it. Resolves with the exit code. */
export async function runCommandLine(
  commands: readonly ConsoleCommand[],
  commandLine: readonly string[],
  terminal: ConsoleTerminal,
  environment: string,
): Promise<number> {
  const results: ExitCode[] = []
  const program = createProgram(terminal, environment)
  const word = commandLine[0] ?? ''
  // A word such as "debug" is an area: the help lists its commands.
  const area = commands.filter(({ name }) => name.startsWith(`${word}:`))
  const known = area.length > 0 ? area : commands
  for (const command of known.toSorted((a, b) => Number(a.name > b.name) - Number(a.name < b.name))) {
    const added = addCommand(program, command)
    added.action(async () => void results.push(await command.run(...createInput(command, added, terminal))))
  }
  try {
    if (word === '' || area.length > 0) program.outputHelp({ error: word !== '' })
    else await program.parseAsync([...commandLine], { from: 'user' })
    return results[0] ?? (word === '' ? exitCodes.success : exitCodes.usage)
  } catch (error) {
    // Commander has printed the mistake, or the help.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.success : exitCodes.usage
    if (terminal.signal.aborted) return interruptedCode
    throw error
  }
}

/** The exit code of shells for a program that Ctrl-C has ended. */
const interruptedCode = 130

function createProgram({ env, stderr, stdout }: ConsoleTerminal, environment: string): Command {
  const strong = (text: string) => paintColours('strong', text)
  return new Command('bin/console')
    .description(`Runs a command of the application, in the environment "${environment}".`)
    .version(version, '-V, --version', 'shows the version')
    .helpOption('-h, --help', 'shows this help')
    .helpCommand(false)
    .option('--env <name>', `${environments.join(', ')} (default: APP_ENV)`)
    .configureOutput({
      writeOut: text => void stdout.write(text),
      writeErr: text => void stderr.write(text),
      getOutHelpWidth: () => stdout.columns ?? 100,
      getErrHelpWidth: () => stderr.columns ?? 100,
      getOutHasColors: () => hasColours(stdout, env),
      getErrHasColors: () => hasColours(stderr, env),
    })
    .configureHelp({ styleTitle: strong, showGlobalOptions: false, subcommandTerm: command => command.name() })
    .showHelpAfterError('(Add --help to see all options.)')
    .exitOverride()
    .addHelpText('after', '\nbin/console <command> --help describes a command.')
}

function addCommand(program: Command, command: ConsoleCommand): Command {
  const { arguments: words = [], description, examples = [], name, options = [] } = command
  const added = program
    .command(name)
    .description(`${description}.`)
    .helpGroup(`${titleOf(name)}:`)
  for (const { choices, description, isOptional, name } of words) {
    const argument = new Argument(isOptional ? `[${name}]` : `<${name}>`, description)
    added.addArgument(choices === undefined ? argument : argument.choices(choices))
  }
  for (const { choices, description, name, value } of options) {
    const option = new Option(value === undefined ? `--${name}` : `--${name} <${value}>`, description)
    added.addOption(choices === undefined ? option : option.choices(choices))
  }
  added.addOption(new Option('--json', 'prints the result as JSON').conflicts('md'))
  added.addOption(new Option('--md', 'prints the result as Markdown'))
  added.addOption(new Option('--env <name>', 'the environment to run in').choices(environments))
  added.helpOption('-h, --help', 'shows this help')
  const lines = examples.map(({ line, purpose }) => `  bin/console ${line}\n      ${purpose}`)
  if (lines.length > 0) added.addHelpText('after', `\nExamples:\n${lines.join('\n')}`)
  return added
}

function titleOf(name: string): string {
  return name.includes(':') ? name.slice(0, name.indexOf(':')) : 'console'
}

function createInput(command: ConsoleCommand, parsed: Command, terminal: ConsoleTerminal): [CommandInput, Output] {
  const values = parsed.opts()
  const options = parsed.options.flatMap((option): [string, string][] => {
    const value: unknown = values[option.attributeName()]
    if (value === undefined) return []
    return [[(option.long ?? '').slice(2), value === true ? '' : String(value)]]
  })
  const names = command.arguments?.map(({ name }) => name) ?? []
  const words = names.flatMap((name, index): [string, string][] => {
    const word = parsed.args[index]
    return word === undefined ? [] : [[name, word]]
  })
  const format = values.json ? 'json' : values.md ? 'markdown' : 'text'
  const input = {
    arguments: Object.fromEntries(words),
    options: Object.fromEntries(options),
    stdin: terminal.stdin,
    signal: terminal.signal,
    confirm: (question: string) => confirm(question, terminal),
  }
  return [input, new Output({ ...terminal, format })]
}

/** Only in a terminal a question can be answered. */
async function confirm(question: string, { signal, stderr, stdin }: ConsoleTerminal): Promise<boolean> {
  if (!stdin.isTTY) throw new CommandUsageError(`${question} There is no terminal to answer this: add --yes.`)
  stderr.write(`${question} [y/N] `)
  const lines = createInterface({ input: stdin, terminal: false })
  try {
    // If the input ends without an answer, the answer is no.
    const over = new Promise<string>(resolve => lines.once('close', () => resolve('')))
    const answer = await Promise.race([lines.question('', { signal }), over])
    return /^y(?:es)?$/i.test(answer.trim())
  } finally {
    lines.close()
  }
}
