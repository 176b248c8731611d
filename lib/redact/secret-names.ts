import { TextMemo } from '../text/text-memo.ts'

/** Replaces every secret. */
export const mask = '******'

/** Tests whether the value under a name is a secret. */
export type NameTest = (name: string) => boolean

/** Identifiers of the profiler, which give access to nothing, and headers with public values. */
const exempt: ReadonlySet<string> = new Set([
  'x-debug-token',
  'x-debug-token-link',
  'x-previous-debug-token',
  '_stopwatch_token',
  'access-control-allow-credentials',
  'proxy-authenticate',
  'signature-input',
  'www-authenticate',
])

const propertyWords =
  'age|algorithm|consent|count|enabled|expir(?:y|es(?:_?in)?)|lang(?:uage)?|length|limit|locale|polic(?:y|ies)|required|rules?|size|' +
  'strength|theme|timeout|total|ttl|type|verified|version'
const wordsOfTime =
  '(?:(?:ch|r)anged|confirmed|created|expire[sd]?|issued|refreshed|renewed|reset|revoked|rotated|updated|used|verified)'

/** Parts of names that contain a part of a secret name, and mean something else. */
const publicParts = new RegExp(
  '(?:mon|tur|don|whis|joc|lac|flun)keys?|hoc?key|hockey|hot_?keys?|compass|bypass|trespass|(?:over|under|sur)pass|' +
    'secretar(?:y|iat|ies)|tokeni[sz](?:e[drs]?|ing|ation|ers)?|(?:authori[sz]|authenticat)(?:e[drs]|ing|ors?)|' +
    '(?:sort|foreign|partition|public)[_-]?keys?|' +
    // Properties of a secret: `token_type`, `password_changed_at`. Only from the beginning of a
    // word, which takes linear time.
    '(?<![a-z\\d])(?:api[_-]?)?[a-z\\d]*(?:auth|cert(?:ificate)?|cookie|credential|email|key|nonce|passw(?:or)?d|secret|session|signature|token)s?[_-]?' +
    `(?:m(?:in|ax)[_-]?)?(?:${propertyWords}|${wordsOfTime}?_?(?:at|on|date|time))(?![a-z\\d])`,
  'g',
)

/** These count anywhere in a name. A `_` may be missing or a blank. */
const anywhere = (
  'passw passphrase passcode pwd secret token credential cookie session sessid signature bearer jwt csrf xsrf private crypt certificate ' +
  'auth email nonce dsn dpop vcap_services mnemonic hmac oidc saml_request saml_response card_num cc_num credit_card connection_string ' +
  'id_rsa id_dsa id_ecdsa id_ed25519 kube_config_data kube_config_content kube_config_b64 recovery_code backup_code verification_code ' +
  'security_code access_code one_time_code oob_code code_verifier security_answer honeycomb_team ' +
  // Passwords in other languages.
  'kennwort contraseña contrasena mot_de_passe wachtwoord salasana lösenord losenord adgangskode hasło haslo heslo jelszó jelszo lozinka ' +
  'пароль 密码 密碼 口令 パスワード 비밀번호 סיסמה'
).split(' ')

/** These are short, so they count only at the end of a word: "key" in `apikey` and `key_id`, but not in `keyboard`. */
const endsOfWords = 'api|key|keys|pass|cert|certs|otp|ssn|cvv|cvc|salt|sid|pin|sig|pw'

/** These only count as whole words: "pat" in `x-pat` and `GH_PAT`, but not in `path`. */
const words = 'pat|seed|mfa|tfa|2fa|totp|assertion|iban|mdp|senha|clave|parola'

/** These only count at the end of a name: `SLACK_WEBHOOK`, `x-ticket`, but not `webhook_events` and `tickets`. */
const endsOfNames = 'webhook(?:_?ur[il])?|ticket|magic'

// "auth" does not count in "author".
const meantAnywhere = new RegExp(anywhere.join('|').replaceAll('_', '[_ ]?').replace('auth', 'auth(?!or(?!iz))'))
const meantInWords = new RegExp(
  `${meantAnywhere.source}|(?:${endsOfWords})\\d*(?![a-z\\d])|(?<![a-z\\d])(?:(?:${words})(?![a-z\\d])|(?:${endsOfNames})(?=\\]*$))`,
)

/**
 * Whether the value under a name is a secret, in any spelling of the name: `apiKey`, `API-KEY`,
 * `user_password`. The list joins those of Django, Rails, Laravel, Spring and Caddy, and adds
 * names that they miss. In doubt a name is secret.
 */
export function isSecretName(name: string): boolean {
  return known.of(name, judge)
}

/** The same few names come with every request. */
const known = new TextMemo<boolean>(1000, 256)

function judge(name: string): boolean {
  const lower = name.toLowerCase()
  if (exempt.has(lower)) return false
  const humps = name
    .replace(/([a-z\d])([A-Z])|([A-Z])(?=[A-Z][a-z])/g, splitHump)
    .toLowerCase()
    .replaceAll('-', '_')
  if (!meantInWords.test(humps) && !meantAnywhere.test(lower)) return false
  return meantInWords.test(humps.replace(publicParts, '')) || meantAnywhere.test(lower.replace(publicParts, ''))
}

function splitHump(_match: string, lower = '', upper = '', acronym = ''): string {
  return acronym === '' ? `${lower}_${upper}` : `${acronym}_`
}

/**
 * A text without any of these words, which a `WordFinder` finds, has no secret name. An escape may
 * hide one (`%70assword`).
 */
export const wordsOfNames = [
  ...['_', '-', ' ', ''].flatMap(mark => anywhere.map(word => word.split('_', 2).join(mark))),
  ...`${endsOfWords}|${words}`.split('|').map(word => `${word}$`),
  ...['webhook', 'ticket', 'magic', '%0'],
].join('¦')

/** Keys that hold the name of another value: `name` of `{ name: 'password', value: 'x' }`. */
export const namingKeys: readonly string[] =
  'name key field fieldName attribute param parameter property header variable k'.split(' ')
/** Keys that hold the value of such a name. */
export const valueKeys: readonly string[] = 'value newValue oldValue fieldValue val v content data stringData'.split(
  ' ',
)
const namingKey = (keys: readonly string[]) =>
  new RegExp(
    String.raw`(?<![\w.-])(?:${keys.join('|')})\\{0,9}["']?\s?[:=]\s?` +
      String.raw`(?:\\{0,9}["']([^"'\x60\\]{1,100})|([\w.[\]-]{1,100})(?=\s*(?:[\r\n,;>/}]|$)|\s\w{1,20}=))`,
    'gi',
  )
/** A Secret of Kubernetes has its kind beside its data. */
const naming = namingKey([...namingKeys, 'kind'])
const namingOfValue = namingKey([...namingKeys, 'path', 'type', 'id'])

/** The names in a text of an object that say what its value under a key is. */
export function namesIn(text: string, key: string): string[] {
  const pattern = key === 'value' ? namingOfValue : naming
  return Array.from(text.matchAll(pattern), ([, quoted, bare = '']) => quoted ?? bare)
}

/** The private parts of a JSON Web Key (RFC 7518, section 6). */
const privateParts = 'd p q dp dq qi oth k'.split(' ')

/**
 * The keys that hold secrets because another key says so: `value` of
 * `{ name: 'password', value: 'x' }` and of a JSON Patch (RFC 6902), `d` of a JSON Web Key, and the list `params` of
 * `{ method: 'setPassword', params: ['x'] }`.
 */
export function secretsUnder(object: object, isSecret: NameTest): readonly string[] {
  if (Object.hasOwn(object, 'kty')) return privateParts
  // The parameters of JSON-RPC by their positions: nothing else says what they are.
  const method = readData(object, 'method')
  if (typeof method === 'string' && Array.isArray(readData(object, 'params')) && isSecret(method)) return ['params']
  const keys = valueKeys.filter(key => Object.hasOwn(object, key))
  if (keys.length === 0) return keys
  // An event has a type and an id, too, but its content is `data`.
  const others = [
    ...(Object.hasOwn(object, 'op') ? ['path'] : []),
    ...(keys[0] === 'value' ? ['type', 'id'] : ['kind']),
  ]
  const isNamed = [...namingKeys, ...others].some(naming => {
    const name = readData(object, naming)
    return typeof name === 'string' && isSecret(name)
  })
  return isNamed ? keys : []
}

const namesBesideCode = ['state', 'session_state', 'iss', 'grant_type']

/**
 * Whether a parameter is a secret because of others: the `code` that an OAuth client exchanges for a
 * token (RFC 6749, section 4.1), and the `variables` of a GraphQL operation that uses one as a secret.
 */
export function isSecretBeside(name: string, others: Parameters, isSecret: NameTest = isSecretName): boolean {
  if (name === 'code') return namesBesideCode.some(other => others.has(other))
  return name === 'variables' && secretVariables(others.get?.('query'), isSecret).length > 0
}

/** Parameters by name, such as those of a query or a form. */
interface Parameters {
  has(name: string): boolean
  get?(name: string): unknown
}

/**
 * The variables of a GraphQL operation that are arguments or fields with secret names: `p` of `login(password: $p)`.
 */
export function secretVariables(operation: unknown, isSecret: NameTest): readonly string[] {
  if (typeof operation !== 'string' || !/\$|%24/.test(operation)) return []
  const found = operation.matchAll(usedVariable)
  return [...new Set(Array.from(found, ([, name = '', variable = '']) => (isSecret(name) ? variable : '')))].filter(
    Boolean,
  )
}

const usedVariable = /(?<![\w$])(\w{1,100})\s{0,9}(?::|%3A)\s{0,9}(?:\$|%24)([A-Za-z_]\w{0,100})(?=[,)}\]\s%])/gi

/**
 * What an issue says of the schema, and not of the input. All other values of an issue with a secret path are masked.
 */
const harmless: ReadonlySet<string> = new Set(
  (
    'code exact expected format inclusive instancePath keyword kind maximum message minimum origin params path pattern requirement ' +
    'schemaPath type validation'
  ).split(' '),
)

const inputLimit = 100

/**
 * Masks what an issue of a validator says about a secret: `input` and `received` of an issue with the
 * path `['user', 'password']`, and these values in its message. Returns any other object as it is.
 * Understands Standard Schema (zod, valibot, joi), JSON Schema (ajv) and mongoose. Calls no getter.
 */
export function maskIssue(value: object, isSecret: NameTest): object {
  const inputs = inputsOf(value, isSecret)
  if (inputs === undefined) return value
  const copy: Record<string, unknown> = {}
  for (const name of Object.keys(value)) {
    const own = readData(value, name)
    copy[name] = harmless.has(name) || own === '' || own === undefined ? own : mask
  }
  // An entry of a path may hold the whole input.
  if (Array.isArray(copy.path)) copy.path = pathOf(value)
  if (typeof copy.message === 'string') copy.message = hideInputs(copy.message, inputs)
  return copy
}

/** Masks in a text, such as the message of an error, the secret inputs that its issues contain. */
export function maskInputs(text: string, issues: readonly unknown[], isSecret: NameTest): string {
  return hideInputs(
    text,
    issues.flatMap(issue => (typeof issue === 'object' && issue !== null && inputsOf(issue, isSecret)) || []),
  )
}

/** Masks some values, and the values in them, in a text such as the message of an error. */
export function hideInputs(text: string, values: readonly unknown[]): string {
  const texts = new Set<string>()
  const add = (value: unknown, depth: number): void => {
    if (texts.size >= inputLimit) return
    if (typeof value === 'object' && value !== null && depth > 0) {
      for (const name of Object.keys(value).slice(0, inputLimit)) add(readData(value, name), depth - 1)
    } else if (/^(?:string|number|bigint)$/.test(typeof value) && value !== '' && value !== mask) {
      texts.add(JSON.stringify(String(value)))
      // A short text would also mask parts of words.
      if (String(value).length >= 4) texts.add(String(value))
    }
  }
  for (const value of values) add(value, 4)
  // Longer ones first: one may contain another.
  const sorted = [...texts].sort((a, b) => b.length - a.length)
  return sorted.reduce((left, input) => left.replaceAll(input, input.startsWith('"') ? `"${mask}"` : mask), text)
}

/** What an issue with a secret path says about the input; `undefined` for any other object. */
function inputsOf(value: object, isSecret: NameTest): unknown[] | undefined {
  if (!pathOf(value).some(segment => typeof segment === 'string' && isSecret(segment))) return undefined
  return ownValues(value, harmless).flatMap(([name, own]) =>
    name === 'context' && typeof own === 'object' && own !== null
      ? ownValues(own, namesOfPath).map(([, part]) => part)
      : [own],
  )
}

/** The context of an issue of joi repeats the names on its path. */
const namesOfPath: ReadonlySet<string> = new Set(['key', 'label'])

function ownValues(object: object, without: ReadonlySet<string>): [name: string, value: unknown][] {
  return Object.keys(object).flatMap(name => (without.has(name) ? [] : [[name, readData(object, name)]]))
}

/** The names on the way to the value of an issue; empty for an object that is no issue. */
function pathOf(value: object): readonly unknown[] {
  const path = readData(value, 'path')
  const pointer = readData(value, 'instancePath')
  if (typeof readData(value, 'message') !== 'string') return []
  if (Array.isArray(path)) {
    const toKey = (part: unknown) => (typeof part === 'object' && part !== null ? readData(part, 'key') : part)
    return path.slice(0, inputLimit).map(toKey)
  }
  if (typeof pointer === 'string') return pointer.split('/', inputLimit)
  // A `path` alone may be that of a request.
  const isIssue = typeof path === 'string' && Object.hasOwn(value, 'kind') && Object.hasOwn(value, 'value')
  return isIssue ? path.split('.', inputLimit) : []
}

/** The value of an own property. No getter is called. */
export function readData(object: object, name: string): unknown {
  return Object.getOwnPropertyDescriptor(object, name)?.value
}
