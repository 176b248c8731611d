/** Stands for every secret. */
export const mask = '******'

const entryLimit = 1000
const longest = 256

/**
 * Remembers what was found out about short texts (at most 256 characters), 1,000 at a time. It holds copies: a text that
 * was cut out of a large one would keep all of that in memory.
 */
export class TextMemo<value> {
  #values = new Map<string, value>()

  get(text: string): value | undefined {
    return this.#values.get(text)
  }

  /** Begins anew when it is full: names and values that matter come again soon. */
  set(text: string, value: value): void {
    if (text.length > longest) return
    if (this.#values.size === entryLimit) this.#values = new Map()
    // UTF-16 keeps lone surrogates as they are.
    this.#values.set(Buffer.from(text, 'utf16le').toString('utf16le'), value)
  }
}

/** Says whether a name gives its value away as a secret. */
export type NameTest = (name: string) => boolean

/** The profiler's own identifiers; they open nothing. */
const exempt: ReadonlySet<string> = new Set([
  'x-debug-token',
  'x-debug-token-link',
  'x-previous-debug-token',
  '_stopwatch_token',
])

/** Long enough to be meant wherever they stand in a name; "auth" is not meant in "author" and "authority". */
const anywhere =
  'passw|passphrase|passcode|pwd|secret|token|credential|cookie|session|sessid|signature|bearer|jwt|[cx]srf|private|crypt|' +
  'certificate|auth(?!or(?!iz))|email|nonce|dsn|vcap_services|mnemonic|hmac|oidc|saml_?re(?:quest|sponse)|' +
  'card_?num|cc_?num|credit_?card|connection_?string|id_(?:rsa|dsa|ecdsa|ed25519)|kube_?config_?(?:data|content|b64)|' +
  '(?:recovery|backup|verification|security|access|one_?time)_?code|security_?answer|' +
  // Passwords in other languages.
  'kennwort|contrase[nñ]a|mot_?de_?passe|wachtwoord|salasana|l[oö]senord|adgangskode|has[lł]o|heslo|jelsz[oó]|lozinka|' +
  'пароль|密码|密碼|口令|パスワード|비밀번호|סיסמה'

/** Short ones only count at the end of a word: "key" in `apikey` and `key_id`, but not in `keyboard`. */
const endsOfWords = 'api|key|keys|pass|cert|certs|otp|ssn|cvv|cvc|salt|sid|pin|sig|pw'

/** These only count as whole words: "pat" in `x-pat` and `GH_PAT`, but not in `path`. */
const words = 'pat|seed|mfa|tfa|2fa|totp|assertion|iban|dpop|mdp|senha|clave|parola'

/** These only count at the end of a name: `SLACK_WEBHOOK`, `x-ticket`, but not `webhook_events` and `tickets`. */
const endsOfNames = 'webhook(?:_?ur[il])?|ticket'

const meantAnywhere = new RegExp(anywhere)
const meantInWords = new RegExp(
  `${anywhere}|(?:${endsOfWords})\\d*(?![a-z\\d])|(?<![a-z\\d])(?:(?:${words})(?![a-z\\d])|(?:${endsOfNames})(?=\\]*$))`,
)

/**
 * Whether a name says that its value is a secret, however it is written: `apiKey`, `API-KEY`, `user_password`. The list
 * joins those of Django, Rails, Laravel, Spring and Caddy with what they miss; it rather hides too much.
 */
export function isSecretName(name: string): boolean {
  let isSecret = known.get(name)
  if (isSecret === undefined) {
    isSecret = judge(name)
    known.set(name, isSecret)
  }
  return isSecret
}

/** The same few names come with every request. */
const known = new TextMemo<boolean>()

function judge(name: string): boolean {
  const lower = name.toLowerCase()
  if (exempt.has(lower)) return false
  const humps = name
    .replace(/([a-z\d])([A-Z])|([A-Z])(?=[A-Z][a-z])/g, splitHump)
    .toLowerCase()
    .replaceAll('-', '_')
  return meantInWords.test(humps) || meantAnywhere.test(lower)
}

function splitHump(_match: string, lower = '', upper = '', acronym = ''): string {
  return acronym === '' ? `${lower}_${upper}` : `${acronym}_`
}

/**
 * Whether a text has any part of a name that gives something away: what has none need not be looked at closely. Escapes
 * (`%70assword`) may hide one.
 */
export function mayHaveSecretName(text: string): boolean {
  return partOfName.test(text) || shortPartOfName.test(text)
}

const partOfName = new RegExp(`${anywhere}|${endsOfNames}|%[2-7]`, 'i')
/** Their case says where words of a name begin. */
const shortPartOfName = new RegExp(
  `(?:${spell(endsOfWords)})\\d*(?![a-z\\d])|(?:(?<![A-Za-z\\d])(?:${words})|${spell(words, false)})(?![a-z\\d])`,
)

/** The words, and how they are written within a name and where letters are capital. */
function spell(list: string, isLower = true): string {
  const all = list.split('|')
  const capital = all.map(word => word.charAt(0).toUpperCase() + word.slice(1))
  return [...(isLower ? all : []), ...capital, ...all.map(word => word.toUpperCase())].join('|')
}

/** Keys whose value is the name of another value. */
export const namingKeys: readonly string[] = [
  'name',
  'key',
  'field',
  'param',
  'parameter',
  'property',
  'header',
  'variable',
  'k',
]
/** Keys of the value that such a name belongs to. */
export const valueKeys: readonly string[] = ['value', 'val', 'v', 'content', 'data']

/** The key of the value that another key of the object names as a secret: `value` of `{ name: 'password', value: 'x' }`. */
export function secretUnder(object: object, isSecret: NameTest): string | undefined {
  const key = valueKeys.find(key => Object.hasOwn(object, key))
  if (key === undefined) return undefined
  const isNamed = namingKeys.some(naming => {
    const name: unknown = Object.getOwnPropertyDescriptor(object, naming)?.value
    return typeof name === 'string' && isSecret(name)
  })
  return isNamed ? key : undefined
}
