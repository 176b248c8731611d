import { shorten } from '../../profile/format.ts'
import { type Parameter, unfit } from './parameter.ts'
import { ToolError } from './tool-error.ts'

/** The parameters of a tool, by their names. */
export type Parameters = Readonly<Record<string, Parameter>>

/** What a tool was given, by the names of its parameters. */
export type Values<parameters extends Parameters> = {
  readonly [name in keyof parameters]: parameters[name] extends Parameter<infer value> ? value : never
}

/** Reads what an agent gives to a tool; empty texts and `null` are nothing. @throws ToolError with all mistakes at once */
export function readArguments<parameters extends Parameters>(
  parameters: parameters,
  given: Readonly<Record<string, unknown>>,
): Values<parameters> {
  const names = Object.keys(parameters)
  const mistakes = Object.keys(given)
    .filter(name => !names.includes(name))
    .map(name => `There is no argument ${JSON.stringify(name)}; there are ${names.join(', ')}.`)
  const values = Object.entries(parameters).map(([name, { expected, isRequired, read }]) => {
    const argument = isNothing(given[name]) ? undefined : given[name]
    if (argument === undefined && isRequired) mistakes.push(`"${name}" is missing: it must be ${expected}.`)
    const value = read(argument)
    if (value === unfit) mistakes.push(`"${name}" must be ${expected}, not ${shorten(JSON.stringify(argument), 100)}.`)
    return [name, value]
  })
  if (mistakes.length > 0) throw new ToolError(mistakes.join('\n'))
  // Each value was read by the parameter of its name.
  return Object.fromEntries(values) as Values<parameters>
}

function isNothing(given: unknown): boolean {
  return given === null || given === ''
}
