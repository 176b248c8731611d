import { createInterface } from 'node:readline/promises'
import type { Readable } from 'node:stream'
import { parseArgs } from 'node:util'
import { Argument, Command, CommanderError, InvalidArgumentError, Option } from 'commander'
import { createDebugConfig } from '../../bundles/framework/commands.ts'
import type { Application } from '../../kernel/bundle.ts'
import {
  type CommandInput,
  type CommandOption,
  type CommandSource,
  CommandUsageError,
  type ConsoleCommand,
  type ExitCode,
  exitCodes,
  type Suggestions,
} from '../../kernel/contracts/console-command.ts'
import { checkCommands } from '../../kernel/contracts/contributions.ts'
import { beginUnit, type RecordedUnit } from '../../kernel/contracts/units.ts'
import { KERNEL_COMMAND_TAKEN } from '../../kernel/errors.ts'
import { suggestOption } from '../../lib/console/command-line.ts'
import { hasColours, Output, type OutputStream } from '../../lib/console/output.ts'
import { paintColours } from '../../lib/console/terminal-text.ts'
import type { Config } from '../../lib/env/config.ts'
import { environments, findEnvironmentMistake } from '../../lib/env/dotenv.ts'
import { CONFIG_INVALID } from '../../lib/env/errors.ts'
import { ARGUMENT_INVALID } from '../../lib/errors/arguments.ts'
import { version } from '../../lib/package.ts'
import { describeValue } from '../../lib/text/describe-value.ts'
import { escapeControls } from '../../lib/text/escapes.ts'
import { suggestNames } from '../../lib/text/mistakes.ts'
import { createProcessLogger, type LoadBundles, loadApplication, readSettings } from '../application/application.ts'
import { describeFailure } from '../application/describe-failure.ts'

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
  process.once('beforeExit', () => {
    const why = 'waits for a promise, but no timer, connection or other work is left that could settle the promise'
    stderr.write(`The command "${commandLine[0]}" ${why}.\n`, () => process.exit(exitCodes.failure))
  })
  const code = await runApplicationCommand(directory, commandLine, {
    stdin,
    stdout,
    stderr,
    env,
    signal: interrupted.signal,
  })
  // A full pipe takes its texts later. Handles that a bundle has left open must not keep the process.
  stdout.write('', () => process.exit(code))
}

/**
 * Runs a command of the application in a directory, without a server. Resolves with the exit code and never rejects.
 */
export async function runApplicationCommand(
  directory: string,
  commandLine: readonly string[],
  terminal: ConsoleTerminal,
  load?: LoadBundles,
): Promise<number> {
  try {
    const { command = '', environment } = readCommandLine(commandLine)
    const mistake = findEnvironmentMistake(environment)
    if (mistake !== undefined) throw new CommandUsageError(mistake)
    const settings = readSettings(directory, terminal.env, environment)
    const { config } = settings
    // Results go to stdout, so the log goes to stderr, and only warnings and errors are of interest.
    const logger = createProcessLogger(settings, terminal.stderr, 'warning')
    const replays = command === 'profiler:replay' || command === 'profiler:verify'
    const isRecorded = config.environment === 'dev' && isOfApplication(command) && !commandLine.some(isAgainst)
    const options = { load, logger, isRecorded, isServed: false, replays, warns: false }
    const kernel = await loadApplication(settings, options).catch(async error => {
      // Bundles are not registered with wrong settings, but the list of settings helps to find them.
      const isListed = error instanceof CONFIG_INVALID && command === 'debug:config'
      if (isListed) await run([createDebugConfig({ ...settings, bundles: [] })], commandLine, terminal, config)
      throw error
    })
    try {
      return await runCommandOf(kernel.app, commandLine, terminal)
    } finally {
      await kernel.close()
    }
  } catch (error) {
    return printFailure(error, terminal)
  }
}

/** The commands of this package read what is recorded, or write files. */
function isOfApplication(command: string): boolean {
  return command !== '' && !/^(?:debug|make|profiler):|^(?:mcp|completion|__complete)$/.test(command)
}

/** In development, a command of the application has a profile, unless this option is given. */
const withoutProfile = '--no-profile'

/** Whether a word of the command line says that the command is not to be recorded, or not to be run. */
function isAgainst(word: string): boolean {
  return [withoutProfile, '--help', '-h', '--version', '-V'].includes(word)
}

/** Runs a command of a booted application. Resolves with the exit code and never rejects. */
export async function runCommandOf(
  { commands, config }: Pick<Application, 'commands' | 'config'>,
  commandLine: readonly string[],
  terminal: ConsoleTerminal,
): Promise<number> {
  try {
    return await run(await loadCommands(commands), commandLine, terminal, config)
  } catch (error) {
    return printFailure(error, terminal)
  }
}

/** Prints why a command has failed, and returns its exit code. */
function printFailure(error: unknown, terminal: ConsoleTerminal): number {
  new Output(terminal).error(describeFailure(error))
  return error instanceof CommandUsageError ? exitCodes.usage : exitCodes.failure
}

/**
 * Loads the commands of an application.
 *
 * @throws KERNEL_COMMAND_TAKEN KERNEL_CONTRIBUTION_INVALID
 */
export async function loadCommands(sources: readonly CommandSource[]): Promise<ConsoleCommand[]> {
  const load = async (source: CommandSource) => {
    const loaded = [typeof source === 'function' ? await source() : source].flat()
    checkCommands(loaded, source)
    return loaded
  }
  const commands = (await Promise.all(sources.map(load))).flat()
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

/** Streams and environment of a command: those of the process, or those of a test. */
interface ConsoleTerminal {
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
  const [isProfiled, line] = [
    !commandLine.includes(withoutProfile),
    commandLine.filter(word => word !== withoutProfile),
  ]
  const program = createProgram(terminal, environment)
  const word = line[0] ?? ''
  const named = commands.find(({ name }) => name === word)
  program.showHelpAfterError(
    named === undefined ? describeCommands(commands, word) : describeWords(named, line.slice(1)),
  )
  // A word such as "debug" is an area: the help lists its commands.
  const area = commands.filter(({ name }) => name.startsWith(`${word}:`))
  const known = area.length > 0 ? area : commands
  for (const command of known.toSorted((a, b) => Number(a.name > b.name) - Number(a.name < b.name))) {
    const added = addCommand(program, command)
    added.action(async () => {
      const unit =
        isProfiled && isOfApplication(command.name)
          ? beginUnit({ type: 'command', name: command.name, arguments: line.slice(1) })
          : undefined
      results.push(await runToEnd(command, createInput(command, added, terminal), unit))
    })
  }
  try {
    if (word === '' || area.length > 0) program.outputHelp({ error: word !== '' })
    else await program.parseAsync(line, { from: 'user' })
    return results[0] ?? (word === '' ? exitCodes.success : exitCodes.usage)
  } catch (error) {
    // Commander has printed the mistake, or the help.
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.success : exitCodes.usage
    if (terminal.signal.aborted) return interruptedCode
    throw error
  }
}

/** The commands of the area of an unknown one, or with a word of it (`route:list`), or where all of them are. */
function describeCommands(commands: readonly ConsoleCommand[], word: string): string {
  if (/^(?:serve|start|dev|run)\b|^server:/.test(word)) return '(The server is no command: npm start runs bin/serve.)'
  const names = commands.map(({ name }) => name)
  const area = names.filter(name => name.startsWith(word.replace(/:.*/, ':')))
  if (area.length === 0 && /^(?:profiler|make):|^mcp$/.test(word)) return `(${word} needs APP_ENV=dev and debug.)`
  // Without the end of a plural: "routes" and "router" are the word of debug:route-match, too.
  const parts = word
    .split(/[:_-]/)
    .flatMap(part => (part.length < 3 ? [] : (otherWords[part] ?? part.replace(/[rs]$/, ''))))
  const named = names.filter(name => name.split(/[:-]/).some(own => parts.some(part => own.startsWith(part))))
  const found = area.length > 0 ? area : named
  if (found.length > 0) return `(There ${found.length > 1 ? 'are' : 'is'} ${found.join(', ')}.)`
  return missingCommands.find(([pattern]) => pattern.test(word))?.[1] ?? '(bin/console lists all commands.)'
}

/** Words that other frameworks have for those of commands. */
const otherWords: Readonly<Record<string, string>> = { generate: 'make', create: 'make', new: 'make' }

/** What stands here for commands of other frameworks. */
const missingCommands: readonly (readonly [pattern: RegExp, advice: string])[] = [
  [
    /^(?:cache|config|view|route|optimize|tmp):?(?:clear|cache|warmup|pool)?$/,
    '(There is no cache of sources: each start reads them.)',
  ],
  [
    /^(?:db|database|doctrine|migrations?|schema|orm|prisma)\b|migrate/,
    '(No bundle has a command for the database: "sinfonietta new --login" makes one, database:migrate.)',
  ],
  [/^(?:test|tests|phpunit|spec)$/, '(The tests are no command: npm test runs them.)'],
]

/** How an unknown option is named here, and how words such as `status:5xx` are written as options. */
function describeWords({ options = [] }: ConsoleCommand, words: readonly string[]): string | undefined {
  const known = [...options, ...commonOptions].map(({ name }) => name)
  const unknown = words.flatMap(word => /^--[\w-]+/.exec(word) ?? []).find(each => !known.includes(each.slice(2)))
  const suggestion = unknown && suggestOption(unknown, known)
  if (suggestion) return `(There is no option ${unknown}${suggestion}.)`
  const written = words.flatMap(word => {
    const [, name = '', value] = /^([\w-]+)[:=](.+)$/.exec(word) ?? []
    return options.some(option => option.name === name) ? `--${name} ${value}` : []
  })
  return written.length > 0 ? `(Write ${written.join(' ')}.)` : undefined
}

/** Resolves with the exit code of a command. @throws ARGUMENT_INVALID for a result that is none */
async function runToEnd(
  command: ConsoleCommand,
  input: Parameters<ConsoleCommand['run']>,
  unit: RecordedUnit | undefined,
): Promise<ExitCode> {
  const { exitCode: before } = process
  process.exitCode = undefined
  try {
    const run = () => command.run(...input)
    const result: unknown =
      (await (unit === undefined ? run() : unit.run(run))) ?? Number(process.exitCode ?? exitCodes.success)
    // Of a larger number, the system keeps the last eight bits: 256 would be a success.
    if (Number.isInteger(result) && Number(result) >= 0 && Number(result) <= 255) {
      unit?.end({ exitCode: Number(result) })
      return result as ExitCode
    }
    const found = typeof result === 'number' ? result : describeValue(result)
    const mistake = `run() returns an exit code from 0 to 255, such as exitCodes.success, not ${found}`
    throw new ARGUMENT_INVALID([`The command "${command.name}"`, mistake])
  } catch (error) {
    unit?.end({ error })
    throw error
  } finally {
    process.exitCode = before
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
    .showHelpAfterError('(Add --help to see all options. All commands have --json and --md.)')
    .exitOverride()
    .addHelpText('after', '\nbin/console <command> --help describes a command.')
}

function addCommand(program: Command, command: ConsoleCommand): Command {
  const { arguments: words = [], description, examples = [], name, options = [] } = command
  const added = program
    .command(name)
    .showSuggestionAfterError(false)
    .description(`${description}.`)
    .helpGroup(`${titleOf(name)}:`)
  for (const { choices, description, isOptional, name } of words) {
    const argument = new Argument(isOptional ? `[${name}]` : `<${name}>`, description)
    added.addArgument(choices === undefined ? withValue(argument, command, program) : argument.choices(choices))
  }
  for (const { choices, description, name, value } of options) {
    const option = new Option(value === undefined ? `--${name}` : `--${name} <${value}>`, description)
    added.addOption(choices === undefined ? withValue(option, command, program) : option.choices(choices))
  }
  added.addOption(new Option('--json', 'prints the result as JSON').conflicts('md'))
  added.addOption(new Option('--md', 'prints the result as Markdown'))
  added.addOption(new Option('--env <name>', 'the environment to run in').choices(environments))
  added.helpOption('-h, --help', 'shows this help')
  const lines = examples.map(({ line, purpose }) => `  bin/console ${line}\n      ${purpose}`)
  if (lines.length > 0) added.addHelpText('after', `\nExamples:\n${lines.join('\n')}`)
  return added
}

/**
 * Refuses a blank value of a command of this package: a variable of the shell that is not set gives it. Says that a
 * second value replaces the first. Commands of the application decide for themselves.
 */
function withValue<parameter extends Argument | Option>(
  parameter: parameter,
  { name }: ConsoleCommand,
  program: Command,
): parameter {
  const isFlag = parameter instanceof Option && parameter.isBoolean()
  if (isFlag || isOfApplication(name)) return parameter
  parameter.argParser((value: string, earlier: unknown) => {
    if (value.trim() === '') throw new InvalidArgumentError('It is empty.')
    const message = `"${value}" replaces "${earlier}", which was given before.\n`
    if (earlier !== undefined && earlier !== value) program.configureOutput().writeErr?.(message)
    return value
  })
  return parameter
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
    arguments: declared(command, 'argument', words, names),
    options: declared(
      command,
      'option',
      options,
      parsed.options.map(({ long }) => (long ?? '').slice(2)),
    ),
    stdin: terminal.stdin,
    signal: terminal.signal,
    confirm: (question: string) => confirm(question, terminal),
  }
  return [placed(command.name, input), new Output({ ...terminal, format })]
}

/** Values by their names. A name that is nearly one of these is a mistake. @throws ARGUMENT_INVALID */
function declared(
  { name: command }: ConsoleCommand,
  noun: 'argument' | 'option',
  values: readonly (readonly [string, string])[],
  names: readonly string[],
): Readonly<Record<string, string>> {
  return new Proxy<Record<string, string>>(Object.fromEntries(values), {
    get(target, key) {
      // Node and libraries read members that any value may have.
      const isOther = typeof key === 'string' && !(key in target) && !names.includes(key)
      const suggestion = isOther ? suggestNames(key, names) : ''
      if (suggestion === '') return Reflect.get(target, key)
      throw new ARGUMENT_INVALID([`The command "${command}"`, `it declares no ${noun} "${String(key)}"${suggestion}`])
    },
  })
}

/** An argument or an option that is read beside the others is a mistake. @throws ARGUMENT_INVALID */
function placed(command: string, input: CommandInput): CommandInput {
  return new Proxy(input, {
    get(target, key) {
      const place = key in target ? undefined : (['arguments', 'options'] as const).find(each => key in target[each])
      if (place === undefined) return Reflect.get(target, key)
      throw new ARGUMENT_INVALID([`The command "${command}"`, `"${String(key)}" is input.${place}.${String(key)}`])
    },
  })
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

/** Creates the command that prints the completion script of a shell. */
function createCompletionCommand(write: (text: string) => unknown): ConsoleCommand {
  return {
    name: 'completion',
    description: 'Prints a script with which a shell completes command lines',
    arguments: [{ name: 'shell', description: 'the shell', choices: ['bash', 'zsh'] }],
    examples: [
      {
        line: 'completion bash > ~/.local/share/bash-completion/completions/console',
        purpose: 'for bash, permanently',
      },
      { line: 'completion zsh', purpose: 'for zsh: eval "$(bin/console completion zsh)" in ~/.zshrc' },
    ],
    run({ arguments: { shell } }) {
      write(shell === 'zsh' ? zsh : bash)
      return exitCodes.success
    },
  }
}

/** Lists the words that can complete the last one. */
async function suggestWords(commands: readonly ConsoleCommand[], words: readonly string[]): Promise<Suggestions> {
  const begun = words.at(-1) ?? ''
  const found = await findWords(commands, words)
  return found.filter(([word]) => word.startsWith(begun)).map(([word, text]) => [word, text.replace(/\s+/g, ' ')])
}

const commonOptions: readonly CommandOption[] = [
  { name: 'json', description: 'prints the result as JSON' },
  { name: 'md', description: 'prints the result as Markdown' },
  { name: 'env', description: 'the environment to run in', value: 'name', choices: ['dev', 'prod', 'test'] },
  { name: 'help', description: 'shows the help of the command' },
]

async function findWords(commands: readonly ConsoleCommand[], words: readonly string[]): Promise<Suggestions> {
  if (words.length < 2) return commands.map(({ description, name }) => [name, description])
  const command = commands.find(({ name }) => name === words[0])
  if (command === undefined) return []
  const options = [...(command.options ?? []), ...commonOptions]
  const before = words.at(-2)
  const waiting = options.find(({ name, value }) => value !== undefined && before === `--${name}`)
  if (waiting !== undefined) return wordsFor(waiting)
  if (words.at(-1)?.startsWith('-')) return options.map(({ description, name }) => [`--${name}`, description])
  const position = countArguments(words.slice(1, -1), options)
  const argument = command.arguments?.[position]
  return argument === undefined ? [] : wordsFor(argument)
}

async function wordsFor({ choices, suggest }: Pick<CommandOption, 'choices' | 'suggest'>): Promise<Suggestions> {
  return choices?.map(word => [word, ''] as const) ?? (await suggest?.()) ?? []
}

/** Counts the words that are neither options nor values of options. */
function countArguments(words: readonly string[], options: readonly CommandOption[]): number {
  const takesNext = (word: string | undefined) =>
    options.some(({ name, value }) => value !== undefined && word === `--${name}`)
  return words.filter((word, index) => !word.startsWith('-') && !takesNext(words[index - 1])).length
}

/** For bash a colon separates words: only the part after the last colon may be replaced. */
const bash = `_sinfonietta_console() {
  local line="\${COMP_LINE:0:COMP_POINT}" words word
  read -ra words <<< "$line"
  [[ "$line" == *' ' ]] && words+=('')
  word="\${words[-1]}"
  COMPREPLY=()
  local candidate colons="\${word%"\${word##*:}"}"
  while IFS=$'\\t' read -r candidate _; do
    COMPREPLY+=("\${candidate#"$colons"}")
  done < <("\${words[0]}" __complete "\${words[@]:1}" 2>/dev/null)
}
complete -o default -F _sinfonietta_console bin/console ./bin/console console
`

const zsh = `#compdef console bin/console ./bin/console
_sinfonietta_console() {
  local -a candidates
  local word description
  while IFS=$'\\t' read -r word description; do
    candidates+=("\${word//:/\\\\:}:\${description}")
  done < <("\${words[1]}" __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)
  _describe 'console' candidates
}
compdef _sinfonietta_console console bin/console ./bin/console
`
