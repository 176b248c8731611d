import type { Headers } from '../../../../lib/http/headers.ts'

/** What the toolbar needs from the Content-Security-Policy of a page: to run one script, and to fetch its content. */
interface PolicyNeeds {
  /** The sources of its script files. */
  readonly scripts: readonly string[]
  /** The sources that it fetches from. */
  readonly fetches: readonly string[]
  readonly createNonce: () => string
}

/** Whether a page can have a toolbar. */
interface PolicyAnswer {
  /** The nonce of the script tag, if a policy requires one. */
  readonly nonce: string | undefined
  /** Why the page cannot have a toolbar; empty when it can. */
  readonly obstacle: string
}

/** The headers with policies; the enforced policy comes first. */
const headerNames: readonly string[] = ['content-security-policy', 'content-security-policy-report-only']

/**
 * Extends the policies of a response (CSP Level 3), also those that only report, by the sources that the toolbar needs. It
 * allows and forbids no script or address of the application. If a policy has a nonce, the tag gets this nonce. Otherwise a
 * nonce is added, unless that would disable `'unsafe-inline'`: then the policy gets the address of the script. Stylesheets
 * need no source, because the script constructs them. The policy of a page in a sandbox stays as it is.
 */
export function allowToolbar(headers: Headers, needs: PolicyNeeds): PolicyAnswer {
  const isSent = headerNames.some(name => headers.has(name))
  if (!isSent) return { nonce: undefined, obstacle: '' }
  const sent = headerNames.map(name => headers.getAll(name).map(field => field.split(',').map(parsePolicy)))
  const policies = sent.flat(2)
  if (sent[0]?.flat().some(isSandbox)) return { nonce: undefined, obstacle: 'the policy of the page is a sandbox' }

  const nonce = chooseNonce(policies, needs)
  for (const [index, fields] of sent.entries()) {
    const extended = fields.map(field => field.map(policy => allowFetches(allowScript(policy, needs, nonce), needs)))
    if (extended.flat().every((policy, at) => policy === fields.flat()[at])) continue
    const name = headerNames[index] ?? ''
    headers.delete(name)
    for (const field of extended) headers.append(name, field.map(format).join(','))
  }
  return { nonce, obstacle: '' }
}

interface Directive {
  readonly name: string
  readonly sources: readonly string[]
  /** The original text. */
  readonly text: string
}

type Policy = readonly Directive[]

function parsePolicy(text: string): Policy {
  return text.split(';').map(text => {
    const [name = '', ...sources] = text.trim().split(/[\t\n\f\r ]+/)
    return { name: name.toLowerCase(), sources, text }
  })
}

function format(policy: Policy): string {
  return policy.map(({ text }) => text).join(';')
}

/** The directive that applies: the first of these names that exists; of two directives with the same name, the first. */
function findDirective(policy: Policy, names: readonly string[]): Directive | undefined {
  return names.map(name => policy.find(other => other.name === name)).find(found => found !== undefined)
}

const scriptNames: readonly string[] = ['script-src-elem', 'script-src', 'default-src']
const fetchNames: readonly string[] = ['connect-src', 'default-src']

/** A nonce that fits all policies that require one; a new one if there is none. */
function chooseNonce(policies: readonly Policy[], { createNonce }: PolicyNeeds): string | undefined {
  const isEnough = (nonce: string | undefined) => policies.every(policy => lackOf(policy, nonce) !== 'nonce')
  const found = policies.map(findNonce).filter(nonce => nonce !== undefined)
  return found.find(isEnough) ?? (isEnough(undefined) ? undefined : createNonce())
}

/** What a policy requires of a tag with this nonce, or without one: a nonce, or the address of its script. */
function lackOf(policy: Policy, nonce: string | undefined): 'nothing' | 'nonce' | 'address' {
  const { sources } = findDirective(policy, scriptNames) ?? {}
  if (sources === undefined || sources.some(source => nonceOf(source) === (nonce ?? ''))) return 'nothing'
  if (allowsOrigin(sources) && !has(sources, "'strict-dynamic'")) return 'nothing'
  return has(sources, "'unsafe-inline'") && !sources.some(switchesInlineOff) ? 'address' : 'nonce'
}

function allowScript(policy: Policy, { scripts }: PolicyNeeds, nonce: string | undefined): Policy {
  const lack = lackOf(policy, nonce)
  const directive = findDirective(policy, scriptNames)
  if (lack === 'nothing' || directive === undefined) return policy
  return extend(policy, directive, 'script-src', lack === 'nonce' ? [`'nonce-${nonce}'`] : scripts)
}

function allowFetches(policy: Policy, { fetches }: PolicyNeeds): Policy {
  const directive = findDirective(policy, fetchNames)
  if (directive === undefined || allowsOrigin(directive.sources)) return policy
  return extend(policy, directive, 'connect-src', fetches)
}

/** `default-src` also applies to other resources: it stays as it is, and a copy is extended. */
function extend(policy: Policy, directive: Directive, name: string, added: readonly string[]): Policy {
  // 'none' is ignored beside other sources, and browsers warn about it.
  const kept = directive.sources.filter(source => source.toLowerCase() !== "'none'")
  const isCopy = directive.name === 'default-src'
  const sources = [...kept, ...added]
  const extended = { name: isCopy ? name : directive.name, sources, text: '' }
  const text = ` ${extended.name} ${sources.join(' ')}`
  if (isCopy) return [...policy.filter(({ name }) => name !== ''), { ...extended, text }]
  return policy.map((other, at) =>
    other === directive ? { ...extended, text: at === 0 ? text.slice(1) : text } : other,
  )
}

function findNonce(policy: Policy): string | undefined {
  const directive = findDirective(policy, scriptNames)
  return directive?.sources.map(nonceOf).find(found => found !== undefined)
}

function nonceOf(source: string): string | undefined {
  return /^'nonce-([\w+/-]+={0,2})'$/i.exec(source)?.[1]
}

function allowsOrigin(sources: readonly string[]): boolean {
  return has(sources, "'self'") || sources.includes('*')
}

function switchesInlineOff(source: string): boolean {
  return /^'(?:nonce-|sha(?:256|384|512)-|strict-dynamic')/i.test(source)
}

function has(sources: readonly string[], keyword: string): boolean {
  return sources.some(source => source.toLowerCase() === keyword)
}

/** The toolbar needs scripts and the origin of the page: the profiler refuses other origins. */
function isSandbox(policy: Policy): boolean {
  const { sources } = policy.find(({ name }) => name === 'sandbox') ?? {}
  return sources !== undefined && !(has(sources, 'allow-scripts') && has(sources, 'allow-same-origin'))
}
