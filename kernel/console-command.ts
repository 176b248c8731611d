import type { Readable } from 'node:stream'
import type { Output } from '../lib/console/output.ts'

/** What a bundle adds to `app.commands`: a command, or what loads several of them once the console runs. */
export type CommandSource = ConsoleCommand | (() => Promise<readonly ConsoleCommand[]>)

/** A command of `bin/console`. */
export interface ConsoleCommand {
  /** `area:verb`; commands of an area stand together in the help. */
  readonly name: string
  /** One sentence without its full stop. */
  readonly description: string
  readonly arguments?: readonly CommandArgument[]
  /** Beside those that every command has: `--json`, `--md`, `--env`, `--help`. */
  readonly options?: readonly CommandOption[]
  /** Command lines without `bin/console`, and what each is for. */
  readonly examples?: readonly CommandExample[]
  /** Does the work; gives the exit code. @throws CommandUsageError */
  run(input: CommandInput, output: Output): ExitCode | Promise<ExitCode>
}

/** A word on the command line. Those that may be missing come last. */
export interface CommandArgument {
  readonly name: string
  readonly description: string
  readonly isOptional?: boolean
  /** The words that may stand there, where there are no others. */
  readonly choices?: readonly string[]
  /** Words to choose from, for the completion of shells. */
  readonly suggest?: () => Suggestions | Promise<Suggestions>
}

/** An option, named without its dashes. */
export interface CommandOption {
  readonly name: string
  readonly description: string
  /** What stands after it (`<number>`); an option without is a flag. */
  readonly value?: string
  readonly choices?: readonly string[]
  readonly suggest?: () => Suggestions | Promise<Suggestions>
}

/** Words, and what each is. */
export type Suggestions = readonly (readonly [word: string, description: string])[]

/** An example of a command line. */
export interface CommandExample {
  readonly line: string
  readonly purpose: string
}

/** What a command is run with. */
export interface CommandInput {
  /** By their names; what was not given is missing. */
  readonly arguments: Readonly<Record<string, string>>
  /** By their names; a flag is an empty text. */
  readonly options: Readonly<Record<string, string>>
  /** What is written to the command, by a program or by hand. */
  readonly stdin: Readable
  /** Aborted when the user wants an end. */
  readonly signal: AbortSignal
  /** Asks a question that is answered with yes or no; no where nobody can be asked. */
  confirm(question: string): Promise<boolean>
}

/** 0 when all went well, 1 when not, 64 when the command line is wrong (EX_USAGE of sysexits.h). */
export type ExitCode = (typeof exitCodes)[keyof typeof exitCodes]

/** The exit codes by what they mean. */
export const exitCodes = { success: 0, failure: 1, usage: 64 } as const

/** A command line that cannot be followed; the message says why. */
export class CommandUsageError extends Error {}
