import { TextMemo } from './text-memo.ts'

/** The profiler's own identifiers; they open nothing. */
const exempt: ReadonlySet<string> = new Set([
  'x-debug-token',
  'x-debug-token-link',
  'x-previous-debug-token',
  '_stopwatch_token',
])

/** Long enough to be meant wherever they stand in a name; "auth" is not meant in "author" and "authority". */
const anywhere =
  /passw|passphrase|passcode|pwd|secret|token|credential|cookie|session|sessid|signature|bearer|jwt|[cx]srf|private|crypt|certificate|auth(?!or(?!iz))|email|nonce|dsn|vcap_services/

/** Short ones only count at the end of a word: "key" in `apikey` and `key_id`, but not in `keyboard`. */
const endOfWord = /(?:api|keys?|pass|certs?|otp|ssn|cvv|cvc|salt|sid|pin|sig)\d*(?![a-z\d])/

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
  if (exempt.has(name.toLowerCase())) return false
  const words = name.replace(/([a-z\d])([A-Z])|([A-Z])(?=[A-Z][a-z])/g, splitHump).toLowerCase()
  return anywhere.test(words) || anywhere.test(name.toLowerCase()) || endOfWord.test(words)
}

function splitHump(_match: string, lower = '', upper = '', acronym = ''): string {
  return acronym === '' ? `${lower}_${upper}` : `${acronym}_`
}
