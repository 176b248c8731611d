/** The kinds of work that have profiles. */
export const unitTypes = ['request', 'command', 'job', 'message', 'task'] as const

/** A kind of work that has profiles. */
export type UnitType = (typeof unitTypes)[number]

/** What a kind of work is called, and what it has. */
interface Unit {
  readonly noun: string
  readonly nouns: string
  /** Whether a client has asked for it over HTTP: then it has a method, a URL and a response, and can be replayed. */
  readonly isExchange: boolean
  /** Whether sockets and timers make many of it: it has a limit of its own in the store. */
  readonly isFrequent: boolean
}

const units: Readonly<Record<UnitType, Unit>> = {
  request: { noun: 'request', nouns: 'requests', isExchange: true, isFrequent: false },
  command: { noun: 'command', nouns: 'commands', isExchange: false, isFrequent: false },
  job: { noun: 'job', nouns: 'jobs', isExchange: false, isFrequent: false },
  message: { noun: 'message', nouns: 'messages', isExchange: false, isFrequent: true },
  task: { noun: 'task', nouns: 'tasks', isExchange: false, isFrequent: true },
}

/** The kinds that have a limit of their own in the store. */
export const frequentTypes: ReadonlySet<UnitType> = new Set(unitTypes.filter(type => units[type].isFrequent))

/** The description of the kind of a profile. */
export function unitOf({ type }: { readonly type: UnitType }): Unit {
  return units[type]
}

/** Writes a sentence about a request for a unit of any kind: `This request blocked …` is `This job blocked …`. */
export function inWordsOf(unit: { readonly type: UnitType }, sentence: string): string {
  const { isExchange, noun } = unitOf(unit)
  if (isExchange) return sentence
  return sentence.replace(/\b(the|this) request\b/gi, `$1 ${noun}`).replace(/\bafter the response$/, 'after the end')
}

/** The panel of work that is no request. */
const unitPanel = 'unit'

/** Whether a kind of work has a panel or a stored part. */
export function hasPart(unit: { readonly type: UnitType }, name: string): boolean {
  return unitOf(unit).isExchange ? name !== unitPanel : !exchangeParts.has(name)
}

/** The stored parts and the panels of an exchange of HTTP, which other work does not have. */
const exchangeParts: ReadonlySet<string> = new Set([
  ...['request', 'response', 'session', 'redirects', 'router'],
  ...['validation', 'templates', 'browser'],
])

/** The fields of a summary that name a profile. */
interface NamedUnit {
  readonly type: UnitType
  readonly method: string
  readonly url: string
  readonly route: string | null
}

/** Names a profile: `GET https://example.org/`, or `job mail ship`. */
export function nameOfUnit({ method, route, type, url }: NamedUnit): string {
  return units[type].isExchange ? `${method} ${url}` : (route ?? type)
}

/** Whether the response is a stream of events: its time is no measure of work. */
export function hasEventStream({ contentType }: { readonly contentType: string | null }): boolean {
  return contentType?.startsWith('text/event-stream') === true
}
