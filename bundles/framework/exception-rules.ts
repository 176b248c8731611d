import { nameOfError } from '../../lib/errors/flat-error.ts'
import { HttpError, withoutStack } from '../../lib/errors/http-error.ts'
import { statusText } from '../../lib/http/response.ts'
import { type LogLevel, logLevels } from '../../lib/log/logger.ts'
import { describeValue, isKeyed, readProperty } from '../../lib/text/describe-value.ts'
import { findShapeMistakes, type ShapeOf } from '../../lib/text/mistakes.ts'

/** What an error of a library means for clients and for the log. */
export interface ExceptionRule {
  /** A class of errors, with its subclasses, or the name of one that cannot be imported. */
  readonly type: string | (abstract new (...values: never[]) => Error)
  /**
   * The status of the answer, from 400 to 599. The client gets the text of the status, not the message of the error.
   */
  readonly status?: number | undefined
  /** The level of the message in the log, instead of that of the status. */
  readonly level?: LogLevel | undefined
}

const ruleShape: ShapeOf<ExceptionRule> = { type: true, status: true, level: 'string' }

/** Lists the mistakes of rules. Each one is a sentence without a full stop. */
export function findRuleMistakes(rules: readonly ExceptionRule[]): string[] {
  return rules.flatMap((rule, index) => {
    const place = `exceptions[${index}]`
    if (!isKeyed(rule)) return [`${place} is ${describeValue(rule)}: use an object with type, status, level`]
    const shape = findShapeMistakes('option', rule, ruleShape, `${place}.`)
    return shape.length > 0 ? shape : findRuleMistake(rule, place, rules.slice(0, index))
  })
}

function findRuleMistake(rule: ExceptionRule, place: string, before: readonly ExceptionRule[]): string[] {
  const { level, status, type } = rule
  const mistakes: string[] = []
  if (typeof type === 'string' ? !/^[\p{L}_$][\p{L}\p{N}_$]*$/u.test(type) : !isErrorClass(type)) {
    const found = typeof type === 'string' ? `"${type}"` : describeValue(type)
    mistakes.push(`${place}.type is ${found}: use a class of errors, or the name of one`)
  }
  if (status !== undefined && !(Number.isInteger(status) && status >= 400 && status <= 599)) {
    const found = typeof status === 'number' ? status : describeValue(status)
    mistakes.push(`${place}.status is ${found}: use a number from 400 to 599`)
  }
  if (level !== undefined && !logLevels.includes(level)) {
    mistakes.push(`${place}.level is "${level}": use ${logLevels.join(', ')}`)
  }
  if (status === undefined && level === undefined) mistakes.push(`${place} has no effect: give it a status or a level`)
  const earlier = before.findIndex(other => covers(other, rule))
  if (earlier !== -1 && mistakes.length === 0) {
    mistakes.push(`${place} is never used, because exceptions[${earlier}] is for the same errors: put it before`)
  }
  return mistakes
}

function isErrorClass(type: unknown): boolean {
  return typeof type === 'function' && (type === Error || type.prototype instanceof Error)
}

function covers({ type: wide }: ExceptionRule, { type }: ExceptionRule): boolean {
  if (wide === type) return true
  return typeof wide === 'function' && typeof type === 'function' && type.prototype instanceof wide
}

/** Finds the first rule for an error. */
export function findRule(rules: readonly ExceptionRule[], error: unknown): ExceptionRule | undefined {
  return rules.find(({ type }) => (typeof type === 'string' ? hasName(error, type) : error instanceof type))
}

/** Whether an error or one of its classes has a name. */
function hasName(error: unknown, name: string): boolean {
  if (!(error instanceof Error)) return false
  if (readProperty(error, 'name') === name) return true
  for (let type: unknown = Object.getPrototypeOf(error); type !== null; type = Object.getPrototypeOf(type)) {
    if (readProperty(readProperty(type, 'constructor'), 'name') === name) return true
  }
  return false
}

/**
 * An error with the status of a rule. It has the name of its cause, whose message may be of a
 * database, and is not for clients.
 */
class RuledError extends HttpError {
  override get name(): string {
    return nameOfError(this.cause)
  }
}

/** Gives an error the status of a rule. */
export function applyStatus({ status }: ExceptionRule, error: unknown): unknown {
  if (status === undefined || (error instanceof HttpError && error.status === status)) return error
  const headers = error instanceof HttpError ? error.headers : {}
  // The cause has the stack.
  return withoutStack(() => new RuledError(status, statusText(status), { cause: error, headers }))
}
