import fc from 'fast-check'
import { Headers } from 'sinfonietta'
import { t } from 'tap'
import { allowToolbar } from '#bundles/profiler/web/toolbar/page-toolbar.ts'
import { provenRuns } from '#tests/support/sample.ts'

const origin = 'http://localhost:8000'
const files = `${origin}/_profiler/assets/`
const fragments = `${origin}/_wdt/`
const needs = { scripts: [files], fetches: [files, fragments], createNonce: () => 'fresh' }

/** The changed policy, and the nonce of the tag. */
function extend(policy: string): [policy: string | null, nonce: string | undefined] {
  const headers = new Headers({ 'content-security-policy': policy })
  const { nonce } = allowToolbar(headers, () => needs)
  return [headers.get('content-security-policy'), nonce]
}

t.test('a policy is extended by the missing sources', async t => {
  const rows: [sent: string, extended: string, nonce?: string][] = [
    // Nothing is missing.
    ["default-src 'self'", "default-src 'self'"],
    ['default-src *', 'default-src *'],
    ["img-src 'none'; frame-ancestors 'none'", "img-src 'none'; frame-ancestors 'none'"],
    ["script-src 'self'; CONNECT-SRC 'SELF'", "script-src 'self'; CONNECT-SRC 'SELF'"],
    ['', ''],
    [';;', ';;'],
    // The nonce of the policy is used.
    ["script-src 'nonce-abc='", "script-src 'nonce-abc='", 'abc='],
    [
      "script-src 'nonce-abc' 'strict-dynamic' 'unsafe-inline' *",
      "script-src 'nonce-abc' 'strict-dynamic' 'unsafe-inline' *",
      'abc',
    ],
    ["script-src 'none'; script-src-elem 'nonce-abc'", "script-src 'none'; script-src-elem 'nonce-abc'", 'abc'],
    ["script-src 'NONCE-aBc'", "script-src 'NONCE-aBc'", 'aBc'],
    // The policy has no nonce.
    ["script-src 'none'", "script-src 'nonce-fresh'", 'fresh'],
    ['script-src', "script-src 'nonce-fresh'", 'fresh'],
    ['script-src https://cdn.example;', "script-src https://cdn.example 'nonce-fresh';", 'fresh'],
    [
      "img-src *; script-src 'sha256-eA==' 'strict-dynamic' 'self'",
      "img-src *; script-src 'sha256-eA==' 'strict-dynamic' 'self' 'nonce-fresh'",
      'fresh',
    ],
    ["script-src 'self'; script-src-elem 'none'", "script-src 'self'; script-src-elem 'nonce-fresh'", 'fresh'],
    ["script-src 'none'; script-src 'self'", "script-src 'nonce-fresh'; script-src 'self'", 'fresh'],
    // With a nonce, inline scripts would no longer run.
    ["script-src 'unsafe-inline'", `script-src 'unsafe-inline' ${files}`],
    ["script-src 'unsafe-inline' 'sha384-eA=='", "script-src 'unsafe-inline' 'sha384-eA==' 'nonce-fresh'", 'fresh'],
    // Instead of default-src there is now a separate directive.
    ["default-src 'none'", `default-src 'none'; script-src 'nonce-fresh'; connect-src ${files} ${fragments}`, 'fresh'],
    ["default-src 'none';", `default-src 'none'; script-src 'nonce-fresh'; connect-src ${files} ${fragments}`, 'fresh'],
    [
      "default-src 'unsafe-inline' data:",
      `default-src 'unsafe-inline' data:; script-src 'unsafe-inline' data: ${files}; connect-src 'unsafe-inline' data: ${files} ${fragments}`,
    ],
    ["default-src 'self'; connect-src 'none'", `default-src 'self'; connect-src ${files} ${fragments}`],
    ["connect-src https://api.example\t'none'", `connect-src https://api.example ${files} ${fragments}`],
    // Several policies apply together.
    ["default-src 'self', script-src 'nonce-abc'", "default-src 'self', script-src 'nonce-abc'", 'abc'],
    [
      "script-src 'none', script-src 'nonce-abc'",
      "script-src 'nonce-fresh',script-src 'nonce-abc' 'nonce-fresh'",
      'fresh',
    ],
    [
      "script-src 'nonce-abc' 'nonce-def',script-src 'nonce-def'",
      "script-src 'nonce-abc' 'nonce-def',script-src 'nonce-def'",
      'def',
    ],
    [
      "script-src 'nonce-abc',script-src 'unsafe-inline'",
      `script-src 'nonce-abc',script-src 'unsafe-inline' ${files}`,
      'abc',
    ],
    [
      "script-src 'nonce-abc',script-src 'nonce-def'",
      "script-src 'nonce-abc' 'nonce-fresh',script-src 'nonce-def' 'nonce-fresh'",
      'fresh',
    ],
    ["script-src 'none',script-src https:", "script-src 'nonce-fresh',script-src https: 'nonce-fresh'", 'fresh'],
    // A sandbox with the needed permissions.
    [
      "sandbox allow-scripts allow-same-origin; default-src 'self'",
      "sandbox allow-scripts allow-same-origin; default-src 'self'",
    ],
    [
      "require-trusted-types-for 'script'; trusted-types 'none'",
      "require-trusted-types-for 'script'; trusted-types 'none'",
    ],
  ]
  for (const [sent, extended, nonce] of rows) t.strictSame(extend(sent), [extended, nonce], sent)
})

t.test('report-only policies are extended, too, and each header separately', async t => {
  const headers = new Headers([
    ['Content-Security-Policy', "script-src 'self'"],
    ['x-other', '1'],
    ['Content-Security-Policy', "script-src 'none'"],
    ['Content-Security-Policy-Report-Only', "script-src 'nonce-abc'"],
    ['Content-Security-Policy-Report-Only', "connect-src 'none'"],
  ])
  t.strictSame(
    allowToolbar(headers, () => needs),
    { nonce: 'fresh', obstacle: '' },
  )
  t.strictSame(headers.getAll('content-security-policy'), ["script-src 'self'", "script-src 'nonce-fresh'"])
  t.strictSame(headers.getAll('content-security-policy-report-only'), [
    "script-src 'nonce-abc' 'nonce-fresh'",
    `connect-src ${files} ${fragments}`,
  ])
})

t.test('a policy that allows the toolbar is not changed', async t => {
  const headers = new Headers({ 'content-security-policy': "default-src 'self'" })
  const { revision } = headers
  t.strictSame(
    allowToolbar(headers, () => needs),
    { nonce: undefined, obstacle: '' },
  )
  t.equal(headers.revision, revision)
  t.strictSame(
    allowToolbar(new Headers(), () => needs),
    { nonce: undefined, obstacle: '' },
  )
})

t.test('a page in a sandbox is not changed', async t => {
  for (const policy of [
    'sandbox',
    "default-src 'none'; Sandbox allow-scripts",
    'img-src *, sandbox allow-same-origin',
  ]) {
    const [extended, nonce] = extend(policy)
    t.equal(extended, policy)
    t.equal(nonce, undefined)
    t.match(allowToolbar(new Headers({ 'content-security-policy': policy }), () => needs).obstacle, /sandbox/)
  }
  const reporting = new Headers({ 'content-security-policy-report-only': 'sandbox' })
  t.equal(allowToolbar(reporting, () => needs).obstacle, '', 'one that only reports puts nothing into a sandbox')
})

/** A source that a policy allows or forbids: a URL, or an inline script; with the nonce of its tag, or without. */
interface Asked {
  readonly kind: 'script' | 'fetch' | 'style' | 'worker'
  readonly url: string | 'inline'
  readonly nonce: string
}

const fallbacks: Readonly<Record<Asked['kind'], readonly string[]>> = {
  script: ['script-src-elem', 'script-src', 'default-src'],
  fetch: ['connect-src', 'default-src'],
  style: ['style-src-elem', 'style-src', 'default-src'],
  worker: ['worker-src', 'child-src', 'script-src', 'default-src'],
}

/** Follows the text of the specification, for the sources in this test. */
function isAllowed(policies: string, { kind, nonce, url }: Asked): boolean {
  return policies.split(',').every(policy => {
    const directives = new Map<string, string[]>()
    for (const part of policy.split(';')) {
      const [name = '', ...sources] = part.trim().split(/\s+/)
      if (!directives.has(name)) directives.set(name, sources)
    }
    const sources = fallbacks[kind].map(name => directives.get(name)).find(found => found !== undefined)
    if (sources === undefined) return true
    const goesByNonce = kind === 'script' || kind === 'style'
    if (goesByNonce && nonce !== '' && sources.includes(`'nonce-${nonce}'`)) return true
    if (url === 'inline') {
      const isOff = sources.some(source => /^'(nonce-|sha256-|strict-dynamic)/.test(source))
      return sources.includes("'unsafe-inline'") && !isOff
    }
    if (kind === 'script' && sources.includes("'strict-dynamic'")) return false
    return sources.some(source => {
      if (source === "'self'") return url.startsWith(`${origin}/`)
      if (source === '*') return true
      if (source === 'https:') return url.startsWith('https:')
      return source.endsWith('/') ? url.startsWith(source) : url.startsWith(`${source}/`)
    })
  })
}

const source = fc.constantFrom(
  ...["'self'", "'none'", '*', 'https:', "'unsafe-inline'", "'strict-dynamic'", "'nonce-abc'", "'nonce-def'"],
  ...["'sha256-eA=='", 'https://cdn.example', `${origin}/scripts/`, "'report-sample'"],
)
const directive = fc
  .tuple(
    fc.constantFrom(
      'default-src',
      'script-src',
      'script-src-elem',
      'connect-src',
      'style-src',
      'worker-src',
      'img-src',
      '',
    ),
    fc.array(source, { maxLength: 4 }),
  )
  .map(([name, sources]) => [name, ...(name === '' ? [] : sources)].join(' '))
const policy = fc.array(directive, { maxLength: 5 }).map(directives => directives.join('; '))
const field = fc.array(policy, { minLength: 1, maxLength: 3 }).map(policies => policies.join(','))

const urls = [
  'inline',
  `${origin}/app.js`,
  `${origin}/scripts/a.js`,
  'https://cdn.example/a.js',
  'https://evil.example/a.js',
]
const asked: Asked[] = (['script', 'fetch', 'style', 'worker'] as const).flatMap(kind =>
  urls.flatMap(url => ['', 'abc', 'def', 'other'].map(nonce => ({ kind, url, nonce }))),
)

t.test('the toolbar is allowed, and nothing else is newly allowed or forbidden', async t => {
  fc.assert(
    fc.property(field, sent => {
      const [extended, nonce = ''] = extend(sent)
      const now = String(extended)
      const wanted: Asked[] = [
        { kind: 'script', url: `${files}1a2b/toolbar.js`, nonce },
        { kind: 'fetch', url: `${files}1a2b/profiler.css`, nonce: '' },
        { kind: 'fetch', url: `${fragments}abc123`, nonce: '' },
      ]
      const lacking = wanted.filter(question => !isAllowed(now, question))
      const changed = asked.filter(question => isAllowed(sent, question) !== isAllowed(now, question))
      return lacking.length === 0 && changed.length === 0
    }),
    { numRuns: provenRuns(3000) },
  )
  t.pass('it holds for 3,000 policies')
})
