import { maskChildWords } from '../redact/mask-child-words.ts'
import { maskQuotedValues } from '../redact/mask-quoted-values.ts'
import { hideInputs, isSecretName, mask, maskInputs, readData } from '../redact/secret-names.ts'
import { readStatement, type Slot } from '../sql/statement.ts'
import { isCache, readTokens } from '../sql/tokens.ts'
import { parseStack, type StackFrame } from '../stack/stack-frames.ts'
import { readProperty } from '../text/describe-value.ts'

/** An error as plain data, with its causes. */
export interface FlatError {
  readonly name: string
  readonly message: string
  /** A code such as `ROUTE_NOT_FOUND` or `ENOENT`. Some libraries use numbers. */
  readonly code?: string | number
  /** The status of the response for the error. */
  readonly status?: number
  readonly frames: readonly StackFrame[]
  readonly cause?: FlatError
  /** The errors that an AggregateError gathers. */
  readonly errors?: readonly FlatError[]
  /** A sentence about causes that were left out. */
  readonly note?: string
  /**
   * Its own enumerable properties that no other field has, and the `issues` of a validator. Their
   * values are live and may be secret: a MaskingCopier copies them. A getter is not called.
   */
  readonly properties?: Readonly<Record<string, unknown>>
}

const depthLimit = 10
const countLimit = 50
const propertyLimit = 50

/**
 * Copies an error and its causes into plain data, at most ten deep and fifty in all. A value that is no error
 * becomes one named `Thrown value`; of an object only the names of its properties are copied. In the message of
 * a validator's error, and in that of a library of a database, inputs for secret names are masked; issues that
 * are JSON in it are written as lines. Without `hasFrames` no stack is read, which is slow. `mask` masks the
 * secrets of each message; in a message of a database, the quoted values are masked after that. Never throws.
 */
export function flattenError(error: unknown, { hasFrames = true, mask = same }: FlattenOptions = {}): FlatError {
  return flatten(error, [], { left: countLimit - 1, hasFrames, mask })
}

/** How errors become plain data. */
interface FlattenOptions {
  readonly hasFrames?: boolean
  readonly mask?: (text: string) => string
}

const same = (text: string) => text

/** The name that {@link flattenError} gives to an error. */
export function nameOfError(error: unknown): string {
  return isError(error) ? nameOf(error) : 'Thrown value'
}

/**
 * The message that {@link flattenError} gives to an error: it is the same wherever the error is shown. Never throws.
 */
export function messageOfError(error: unknown, mask: (text: string) => string = same): string {
  return messageOf(error, mask, causeLimit)
}

/** The name and message that {@link flattenError} gives to an error. `mask` masks each of them alone. Never throws. */
export function describeError(error: unknown, mask: (text: string) => string = same): string {
  return `${mask(nameOfError(error))}: ${messageOfError(error, mask)}`
}

/** Shared by an error and all of its causes. */
interface Budget {
  left: number
  readonly hasFrames: boolean
  readonly mask: (text: string) => string
}

function flatten(error: unknown, outer: readonly unknown[], budget: Budget): FlatError {
  if (!isError(error)) return { name: nameOfError(error), message: messageOfError(error, budget.mask), frames: [] }
  const code = readProperty(error, 'code')
  const status = statusOf(error)
  const properties = propertiesOf(error)
  return {
    name: nameOf(error),
    message: messageOfError(error, budget.mask),
    ...((typeof code === 'string' || typeof code === 'number') && { code }),
    ...(status !== undefined && { status }),
    frames: budget.hasFrames ? parseStack(error) : [],
    ...flattenInner(error, [...outer, error], budget),
    ...(properties && { properties }),
  }
}

/** The status by which a framework answers: Fastify reads `statusCode`, and Hapi that of `output`. */
function statusOf(error: object): number | undefined {
  const read = (from: unknown) => [readProperty(from, 'status'), readProperty(from, 'statusCode')]
  return [...read(error), ...read(readProperty(error, 'output'))].find((status): status is number =>
    Number.isInteger(status),
  )
}

function propertiesOf(error: object): Record<string, unknown> | undefined {
  let found: Record<string, unknown> | undefined
  try {
    const names = Object.keys(error)
    if (names.length > propertyLimit) names.length = propertyLimit
    // Zod hides this property from enumeration.
    if (Object.hasOwn(error, 'issues')) names.push('issues')
    for (const name of names) {
      const property = Object.getOwnPropertyDescriptor(error, name)
      if (property === undefined || isFlat(name, property.value) || isNothing(property)) continue
      // In an object without a prototype, an assignment to `__proto__` creates an ordinary property.
      found ??= Object.create(null) as Record<string, unknown>
      found[name] = property.get === undefined ? property.value : '[getter]'
    }
    if (found !== undefined) hideStatement(error, found)
  } catch {
    // A proxy may refuse.
  }
  return found
}

/** Replaces the statement and its values, and masks these in other texts: mysql2 repeats the message in a property. */
export function hideStatement(error: object, properties: Record<string, unknown>): void {
  const words = childWordsOf(error)
  const statement = statementOf(error) ?? (words.length > 0 ? { shape: '', properties: {}, secrets: words } : undefined)
  if (statement === undefined) return
  const message = words.length > 0 ? undefined : text(readProperty(error, 'message'))
  for (const [name, value] of Object.entries(properties)) {
    if (typeof value !== 'string') continue
    properties[name] = value === message ? hideValues(value, statement, same) : hideInputs(value, statement.secrets)
  }
  Object.assign(properties, statement.properties)
}

/** Databases quote names and values in their messages: the values are masked. */
function hideValues(message: string, { secrets, shape }: ErrorStatement, mask: (text: string) => string): string {
  return maskQuotedValues(mask(hideInputs(message, secrets)), shape)
}

/** Whether another field of the flat error has the value. */
function isFlat(name: string, value: unknown): boolean {
  switch (name) {
    case 'name':
    case 'message':
    case 'stack':
    case 'cause':
      return true
    case 'code':
      return typeof value === 'string' || typeof value === 'number'
    case 'status':
      return Number.isInteger(value)
    case 'errors':
      return Array.isArray(value)
    default:
      return false
  }
}

/** Whether a property has nothing to show: a missing value, a method, or an object without properties. */
function isNothing({ get, value }: PropertyDescriptor): boolean {
  if (get !== undefined) return false
  if (value === undefined || value === null || typeof value === 'function') return true
  return Object.getPrototypeOf(value) === Object.prototype && Object.keys(value).length === 0
}

function flattenInner(
  error: unknown,
  outer: readonly unknown[],
  budget: Budget,
): Pick<FlatError, 'cause' | 'errors' | 'note'> {
  let note: string | undefined
  const inner = (value: unknown): FlatError[] => {
    if (outer.includes(value)) note = 'It leads back to an error above, which is not repeated.'
    else if (outer.length === depthLimit || budget.left === 0) note = 'What led to it further is left out.'
    else {
      budget.left--
      return [flatten(value, outer, budget)]
    }
    return []
  }
  const [cause] = present(readProperty(error, 'cause')).flatMap(inner)
  const errors = items(readProperty(error, 'errors')).flatMap(inner)
  return { ...(cause && { cause }), ...(errors.length > 0 && { errors }), ...(note !== undefined && { note }) }
}

/** Errors of other realms, and objects that behave like errors, are recognised by their message. */
function isError(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  try {
    return value instanceof Error || typeof readProperty(value, 'message') === 'string'
  } catch {
    return false
  }
}

function nameOf(error: unknown): string {
  const name = text(readProperty(error, 'name'))
  const className = text(readProperty(readProperty(error, 'constructor'), 'name'))
  // Classes of applications seldom set the name, which they inherit. Those of pg are all named `error`.
  const isInherited = (name === 'Error' || name === 'error') && className !== 'Object'
  return (isInherited ? className : name) || className || 'Error'
}

/** Causes whose messages an error may repeat. */
const causeLimit = 3

/** `depth`: how many causes are read. */
function messageOf(error: unknown, mask: (text: string) => string, depth: number): string {
  if (!isError(error)) return mask(describe(error))
  const statement = statementOf(error)
  const own = text(readProperty(error, 'message')) ?? ''
  const message = hideCause(hideInputs(own, childWordsOf(error)), error, mask, depth)
  if (statement !== undefined) return hideValues(message, statement, mask)
  const issues = items(readProperty(error, 'issues') ?? readProperty(error, 'details'))
  if (issues.length === 0) return mask(message)
  // The message of zod is its issues as JSON.
  const isJson = message.startsWith('[') && message.endsWith(']')
  return mask(maskInputs(isJson ? issues.map(describeIssue).join('\n') : message, issues, isSecretName))
}

/** Applications put the message of a cause into their own one. */
function hideCause(message: string, error: object, mask: (text: string) => string, depth: number): string {
  const cause = depth > 0 ? ownValue(error, 'cause') : undefined
  const repeated = isError(cause) ? text(readProperty(cause, 'message')) : undefined
  if (repeated === undefined || repeated === '' || !message.includes(repeated)) return message
  return message.replaceAll(repeated, () => messageOf(cause, mask, depth - 1))
}

function ownValue(object: object, name: string): unknown {
  try {
    return Object.getOwnPropertyDescriptor(object, name)?.value
  } catch {
    // A proxy may refuse.
    return undefined
  }
}

function statementOf(error: object): ErrorStatement | undefined {
  try {
    return readErrorStatement(error)
  } catch {
    // A proxy may refuse.
    return undefined
  }
}

/** The words of the command of a child process that may be secrets: Node repeats the command in its message. */
function childWordsOf(error: object): readonly string[] {
  const [, command = ''] = /^Command failed: ([^\r\n]+)/.exec(text(ownValue(error, 'message')) ?? '') ?? []
  const line = text(ownValue(error, 'cmd')) ?? command
  const words = line.slice(0, textLimit).split(/\s+/)
  const masked = maskChildWords(words)
  return words.flatMap((word, index) => (masked[index] === word ? [] : [word.slice(masked[index]?.indexOf(mask))]))
}

/** Writes an issue of a validator: `user.age: Too small`. */
function describeIssue(issue: unknown): string {
  const message = text(readProperty(issue, 'message')) ?? describe(issue)
  const path = items(readProperty(issue, 'path')).map(String).join('.')
  return path === '' ? message : `${path}: ${message}`
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}

function present(value: unknown): unknown[] {
  return value === undefined || value === null ? [] : [value]
}

const none: readonly unknown[] = []

function items(value: unknown): readonly unknown[] {
  if (value === undefined) return none
  try {
    if (!Array.isArray(value)) return []
    // No more than the budget allows are read, and no method of the array is called: it may be overridden.
    return Array.from({ length: Math.min(value.length, countLimit) }, (_, index) => value[index])
  } catch {
    return []
  }
}

function describe(value: unknown): string {
  if (typeof value === 'function') return 'a function'
  if (typeof value !== 'object' || value === null) return String(value)
  try {
    const names = Object.keys(value).slice(0, 10)
    return names.length === 0 ? 'an object' : `an object with ${names.join(', ')}`
  } catch {
    return 'an object'
  }
}

/** An error with its causes, such as {@link FlatError}. */
interface Chained<error> {
  readonly cause?: error | undefined
  readonly errors?: readonly error[] | undefined
}

/** An error, the errors that it gathers, and its causes, in reading order. */
export function errorChain<error extends Chained<error>>(error: error): error[] {
  const { cause, errors = [] } = error
  return [error, ...errors.flatMap(errorChain), ...(cause === undefined ? [] : errorChain(cause))]
}

/** Errors whose cause was set here. An error object that is thrown again gets a new cause. */
const ends = new WeakSet<object>()

/**
 * Appends an error to the causes of a failure that happened while the error was handled, as Symfony does, unless the
 * causes already contain it. A failure that is no object, or that cannot be changed, stays as it is. Never throws.
 */
export function appendCause(failure: unknown, original: unknown): void {
  const links = chainOf(failure)
  const last = links.at(-1)
  if (last === undefined || links.some(link => link === original) || chainOf(original).includes(last)) return
  // A cause that is no object also ends the chain.
  if (!ends.has(last) && readProperty(last, 'cause') !== undefined) return
  try {
    if (Reflect.defineProperty(last, 'cause', { value: original, writable: true, configurable: true })) ends.add(last)
  } catch {
    // A proxy may refuse.
  }
}

/**
 * A failure and those of its causes that are objects, up to the first one whose cause was set
 * here. Empty for a chain that is a circle or too long.
 */
function chainOf(failure: unknown): readonly object[] {
  const links: object[] = []
  for (let link = failure; typeof link === 'object' && link !== null; link = readProperty(link, 'cause')) {
    if (links.includes(link) || links.length === depthLimit) return []
    links.push(link)
    if (ends.has(link)) break
  }
  return links
}

/** Names under which libraries of databases attach the statement to its error, and its values. */
const statementNames: readonly string[] = ['sql', 'query', 'statement', 'internalQuery']
const valueNames: readonly string[] = ['parameters', 'params', 'values', 'bindings', 'args']

const textLimit = 10_000
const valueLimit = 100
const verbs: ReadonlySet<string> = new Set(
  (
    'SELECT INSERT UPDATE DELETE REPLACE MERGE UPSERT WITH VALUES TABLE CALL DO EXEC EXECUTE EXPLAIN PREPARE DECLARE BEGIN ' +
    'SET PRAGMA ATTACH COPY CREATE ALTER DROP TRUNCATE GRANT REVOKE NOTIFY'
  ).split(' '),
)

interface FailedStatement {
  readonly system: string
  readonly text: string
  readonly parameters?: readonly unknown[] | Readonly<Record<string, unknown>> | undefined
}

/** The reported statements of errors: most libraries do not attach them. */
const reported = new WeakMap<object, FailedStatement>()

/** Remembers the statement of an error, so that its values are masked wherever the error is shown. */
export function rememberStatement(error: unknown, statement: FailedStatement): void {
  if (typeof error === 'object' && error !== null) reported.set(error, statement)
}

/** What replaces the statement of an error. */
interface ErrorStatement {
  /** A statement without its literals; empty if it is not known. */
  readonly shape: string
  /** Statements without their literals, and values with their names, by the names of the properties. */
  readonly properties: Readonly<Record<string, unknown>>
  /** Values that may be secret: some libraries write them into the message, too. */
  readonly secrets: readonly unknown[]
}

/**
 * Reads the statement that was reported for an error of a database, or that its library has
 * attached, or the command of a cache; `undefined` for all other errors. The values of a statement
 * get the names of their columns, so that a MaskingCopier masks them; a value without a certain
 * name is masked, and so are all arguments of a command. Calls no getter.
 */
function readErrorStatement(error: object): ErrorStatement | undefined {
  const properties: Record<string, unknown> = {}
  const secrets: unknown[] = []
  readCommand(error, properties, secrets)
  let shape = readReported(reported.get(error), secrets)
  let slots: readonly Slot[] | undefined
  for (const name of statementNames) {
    const text = readData(error, name)
    if (typeof text !== 'string') continue
    const begin = text.slice(0, textLimit)
    if (name !== 'sql' && !isStatement(begin)) continue
    const statement = readStatement(begin, '')
    if (name !== 'sql' && statement.slots.length === 0 && shape === '' && !hasValues(error) && !isOfDatabase(error))
      continue
    properties[name] = statement.shape
    shape += ` ${statement.shape}`
    slots ??= statement.slots
  }
  if (slots !== undefined) {
    secrets.push(...slots.filter(isSecret).map(({ literal }) => literal?.text))
    for (const name of valueNames) readValues(readData(error, name), name, slots, properties, secrets)
  }
  const isKnown = shape !== '' || Object.keys(properties).length > 0 || isOfDatabase(error)
  return isKnown ? { shape, properties, secrets } : undefined
}

/** Adds the values of a reported statement that may be secret. Returns its shape. */
function readReported(statement: FailedStatement | undefined, secrets: unknown[]): string {
  if (statement === undefined) return ''
  const { parameters = [], system, text } = statement
  const values = Object.entries(parameters).slice(0, valueLimit)
  if (isCache(system)) {
    const [command = '', ...args] = text.slice(0, textLimit).split(' ')
    secrets.push(...args, ...values.map(([, value]) => value))
    return command
  }
  const { shape, slots } = readStatement(text.slice(0, textLimit), system)
  secrets.push(...slots.filter(isSecret).map(({ literal }) => literal?.text))
  for (const [name, value] of values) {
    const key = Array.isArray(parameters) ? Number(name) + 1 : name.replace(/^[:@$]/, '')
    if (isSecret(slots.find(slot => slot.key === key))) secrets.push(value)
  }
  return shape
}

/** Properties of the errors of MySQL; codes of those of SQLite and SQL Server; names of those of Redis and MongoDB. */
const ownProperties: readonly string[] = ['sqlState', 'sqlMessage']
const codeOfDatabase = /^(?:SQLITE_|ERR_SQLITE|EREQUEST$)/
const nameOfDatabase = /^(?:ReplyError|ErrorReply|SimpleError|Mongo(?:Bulk\w*|Server)Error)$/

/**
 * A code of SQLSTATE. With a `severity` it is that of an error of PostgreSQL; linters have severities with other codes.
 */
const sqlState = /^(?=\D{0,4}\d)[\dA-Z]{5}$/

/** Whether an error is that of a database, which quotes values in its message. */
function isOfDatabase(error: object): boolean {
  if (ownProperties.some(name => typeof readData(error, name) === 'string')) return true
  const code = String(readData(error, 'code'))
  if (typeof readData(error, 'severity') === 'string' && sqlState.test(code)) return true
  const type = readData(Object(Object.getPrototypeOf(error)), 'constructor')
  return codeOfDatabase.test(code) || nameOfDatabase.test(String(readData(Object(type), 'name')))
}

/** Whether the values of a statement are beside it: `query` may also be that of a search, such as `select shoes`. */
function hasValues(error: object): boolean {
  return valueNames.some(name => typeof (readData(error, name) ?? '') === 'object')
}

/** Whether a text is a statement: `query` may also be that of a URL. Comments and brackets may be before the verb. */
function isStatement(text: string): boolean {
  const first = readTokens(text, '').find(({ text }) => text !== '(')
  return first?.kind === 'word' && verbs.has(first.text.toUpperCase())
}

/** The command of ioredis: any of its arguments may be a password, a session or a script with both. */
function readCommand(error: object, properties: Record<string, unknown>, secrets: unknown[]): void {
  const command = readData(error, 'command')
  if (typeof command !== 'object' || command === null) return
  const args = readData(command, 'args')
  if (!Array.isArray(args)) return
  secrets.push(...args.slice(0, valueLimit).filter(arg => typeof arg === 'string'))
  properties.command = { name: readData(command, 'name'), args: args.length === 0 ? [] : mask }
}

/** Adds the values of a statement. They are a list, or an object with the names of the placeholders. */
function readValues(
  values: unknown,
  property: string,
  slots: readonly Slot[],
  properties: Record<string, unknown>,
  secrets: unknown[],
): void {
  if (typeof values !== 'object' || values === null) return
  const names = Object.keys(values).slice(0, valueLimit)
  properties[property] = names.map(name => {
    const [value, key] = [readData(values, name), Array.isArray(values) ? Number(name) + 1 : name.replace(/^[:@$]/, '')]
    const slot = slots.find(slot => slot.key === key)
    if (!isSecret(slot)) return { name: slot?.name, value }
    secrets.push(value)
    return { name: slot?.name ?? (typeof key === 'number' ? `$${key}` : key), value: mask }
  })
}

/** A value without a name may be secret. */
function isSecret(slot: Slot | undefined): boolean {
  return slot?.name === undefined || isSecretName(slot.name)
}
