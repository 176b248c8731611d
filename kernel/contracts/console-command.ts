import type { Readable } from 'node:stream'
import type { Output } from '../../lib/console/output.ts'
import type { ExtensionPoint } from './extension-point.ts'

/** An entry of `app.commands`: a command, or a function that loads several when the console runs. */
export type CommandSource = ConsoleCommand | (() => Promise<readonly ConsoleCommand[]>)

/** A command of `bin/console`. */
export interface ConsoleCommand {
  /** `area:verb`. The help groups commands by area. */
  readonly name: string
  /** One sentence without its full stop. */
  readonly description: string
  /** The arguments in their order. */
  readonly arguments?: readonly CommandArgument[]
  /** In addition to the options of every command: `--json`, `--md`, `--env`, `--help`. */
  readonly options?: readonly CommandOption[]
  /** Command lines without `bin/console`, each with its purpose. */
  readonly examples?: readonly CommandExample[]
  /**
   * Does the work and returns the exit code. Without one, it is that of `process.exitCode` if the command
   * has set it, and otherwise 0. @throws CommandUsageError, with the exit code 64; any other error gives 1
   */
  run(input: CommandInput, output: Output): ExitCode | undefined | Promise<ExitCode | undefined>
}

/** A word on the command line. Optional arguments come last. */
export interface CommandArgument {
  /** The name in the usage, and of the value in `arguments`. */
  readonly name: string
  /** What it is for, in a few words. */
  readonly description: string
  /** Whether the command runs without it. */
  readonly isOptional?: boolean
  /** All allowed words, if the argument is an enumeration. */
  readonly choices?: readonly string[]
  /** Words for the completion of shells. */
  readonly suggest?: () => Suggestions | Promise<Suggestions>
}

/** An option, named without its dashes. */
export interface CommandOption {
  /** The name without the hyphens. */
  readonly name: string
  /** What it is for, in a few words. */
  readonly description: string
  /** The name of its value in the help (`number`); an option without a value is a flag. */
  readonly value?: string
  /** The allowed values. */
  readonly choices?: readonly string[]
  /** The values that the completion of a shell offers. */
  readonly suggest?: () => Suggestions | Promise<Suggestions>
}

/** The words that the shell suggests for an argument or an option, each with a description. */
export type Suggestions = readonly (readonly [word: string, description: string])[]

/** An example of a command line. */
export interface CommandExample {
  /** The command line without `bin/console`. */
  readonly line: string
  /** What it does, in a few words. */
  readonly purpose: string
}

/** The arguments and options with which a command was called. */
export interface CommandInput {
  /** By name; absent arguments have no entry. */
  readonly arguments: Readonly<Record<string, string>>
  /** By name; the value of a flag is an empty text. */
  readonly options: Readonly<Record<string, string>>
  /** The standard input. */
  readonly stdin: Readable
  /** Aborted when the user stops the command. */
  readonly signal: AbortSignal
  /** Asks the user a yes-or-no question. Without a terminal the answer is no. */
  confirm(question: string): Promise<boolean>
}

/** 0 for success, 1 for failure, 64 for a wrong command line (EX_USAGE of sysexits.h). */
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** The exit codes by their meaning. */
export const exitCodes = {
  /** The work is done. */
  success: 0,
  /** The work has failed. */
  failure: 1,
  /** The command line is wrong (EX_USAGE of sysexits.h). */
  usage: 64,
} as const

/** A command line that is wrong; the message gives the reason. */
export class CommandUsageError extends Error {}

/** What `app.commands` takes, beside functions that load commands. */
export const commandPoint: ExtensionPoint<ConsoleCommand> = {
  noun: 'command',
  shape: {
    name: 'string',
    description: 'string',
    arguments: [
      { name: 'string', description: 'string', isOptional: 'boolean', choices: ['string'], suggest: 'function' },
    ],
    options: [{ name: 'string', description: 'string', value: 'string', choices: ['string'], suggest: 'function' }],
    examples: [{ line: 'string', purpose: 'string' }],
    run: 'function',
  },
  required: ['name', 'description', 'run'],
}
