import type { PlacedName } from './read-name.ts'

/** Words that follow `password:` in a sentence, or in a program; `password: hunter` has none of them. */
const functionWords = new Set(
  (
    'a an the is are was were be been being has have had not no none must should shall may might can cannot could would will ' +
    'does did do it its this that these those there here your our my his her their you we they i please enter expected got ' +
    'received found missing required requires invalid expired failed unknown unsupported unexpected empty but or and if when ' +
    'where while which what how why for from in on at of to with by as into about than then only already never always also both ' +
    'either neither too very more less least unable see created updated deleted changed rotated revoked rejected accepted ' +
    'denied refused allowed mismatch wrong incorrect malformed stale optional string number boolean any object symbol ' +
    'bigint await new typeof'
  ).split(' '),
)

const word = /[A-Za-z]{1,40}(?:'[a-z]{1,2})?(?=[\s.,;:!?)|]|$)/y
const plainWord = /^[A-Z]?[a-z]+$/
/** Names that nothing but a secret comes after, also within a sentence. */
const strongName = /passw|passphrase|passcode|pwd|secret|api[_-]?key|authorization/i
/** What a line number and the port of a host come after. */
const namesOfNumbers = /pin|cvv|cvc|otp|ssn|pass|pw|secret|mfa|2fa|code/i
const sourceFile = /\.(?:[cm]?[jt]sx?|json|ya?ml|html?|hbs|css|md|php|py|rb|go|rs|java|sql|map|vue|svelte)$/i

/** Whether what stands behind `name:` and a blank goes on as a sentence does, and is no value. */
export function isProse(text: string, name: PlacedName, start: number): boolean {
  // `AuthenticationError: …`
  if (/(?:Error|Exception|Warning)$/.test(name.text)) return true
  const next = wordAt(text, start)
  // A count or a version: `tokens: 512`, `api: v2`.
  if (next === '') return name.quote === '' && isNumber(name.text, text.slice(start, start + 20))
  if (functionWords.has(next.toLowerCase())) return true
  // A heading, or a name within a sentence.
  const isSaid = name.position === 'prose' || (name.quote === '' && /^[A-Z][a-z]+$/.test(name.text))
  return isSaid && !strongName.test(name.text) && plainWord.test(next)
}

/** Whether a sentence goes on behind a value. */
export function goesOnAsProse(text: string, from: number): boolean {
  let at = from
  while (at - from < 9 && /[ \t]/.test(text.charAt(at))) at++
  return functionWords.has(wordAt(text, at).toLowerCase())
}

/** Whether `name:` without a blank is none of a value, but of a place (`session.ts:12`), a host, an event (`auth:login`). */
export function isPlace(text: string, name: PlacedName, start: number): boolean {
  const before = text.charAt(name.start - 1)
  if (/[:/\\]/.test(text.charAt(start)) || before === '/' || before === ':' || sourceFile.test(name.text)) return true
  const value = text.slice(start, start + 100)
  if (/^\d{1,5}(?![\w-])/.test(value) && !namesOfNumbers.test(name.text)) return true
  return /^[A-Za-z][A-Za-z_.-]*(?![\w-])/.test(value) && !strongName.test(name.text)
}

function isNumber(name: string, value: string): boolean {
  return /^v\d[\d.]{0,9}(?![\w-])/.test(value) || (/s$/i.test(name) && /^\d{1,9}(?![\w-])/.test(value))
}

function wordAt(text: string, at: number): string {
  word.lastIndex = at
  return word.exec(text)?.[0] ?? ''
}
