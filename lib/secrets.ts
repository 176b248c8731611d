import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto'
import { checkArguments } from './errors/arguments.ts'

/**
 * Signs and encrypts texts that clients keep, such as cookies and parts of links. A text is bound
 * to a name, so that it is of no use in another place. The keys are derived from `APP_SECRET`
 * (HKDF, RFC 5869). Texts of the secrets in `APP_SECRET_OLD` are still accepted.
 */
export class Secrets {
  readonly #secret: string
  readonly #oldSecrets: readonly string[]
  readonly #now: () => number
  #signing: Keys | undefined
  #encryption: Keys | undefined

  /** The clock is in milliseconds since 1970. */
  constructor(secret: string, oldSecrets: readonly string[] = [], now: () => number = Date.now) {
    this.#secret = secret
    this.#oldSecrets = oldSecrets
    this.#now = now
  }

  /**
   * Adds a signature (HMAC-SHA-256): the client can read the value, but not change it. After `seconds` the text is
   * no longer accepted; by default it is accepted for ever. The text consists of letters, digits, `-`, `_` and `.`.
   */
  sign(name: string, value: string, seconds?: number): string {
    checkArguments('secrets.sign(name, value)', ['string', 'string'], name, value)
    const content = `${Buffer.from(value).toString('base64url')}.${this.#findEnd(seconds)}`
    return `${content}.${createSignature(this.#signingKeys[0], content, name)}`
  }

  /** The value of a signed text; `undefined` if it was changed, is too old, or belongs to another name. */
  verify(name: string, text: string | null | undefined): string | undefined
  verify(name: string, ...texts: readonly (string | null | undefined)[]): string | undefined {
    const text = takeText('secrets.verify(name, text)', name, texts)
    const [, content, value, end, signature] = /^(([\w-]*)\.(\d*))\.([\w-]+)$/.exec(text ?? '') ?? []
    if (content === undefined || value === undefined || end === undefined || signature === undefined) return undefined
    const isSigned = this.#signingKeys.some(key => isEqual(signature, createSignature(key, content, name)))
    return isSigned && this.#isValid(end) ? Buffer.from(value, 'base64url').toString() : undefined
  }

  /**
   * Encrypts a value (AES-256-GCM with a random nonce): the client can neither read nor change it. After `seconds` the
   * text is no longer accepted; by default it is accepted for ever. The text consists of letters, digits, `-` and `_`.
   */
  encrypt(name: string, value: string, seconds?: number): string {
    checkArguments('secrets.encrypt(name, value)', ['string', 'string'], name, value)
    const nonce = randomBytes(nonceLength)
    const cipher = createCipheriv(algorithm, this.#encryptionKeys[0], nonce).setAAD(Buffer.from(name))
    const content = [cipher.update(`${this.#findEnd(seconds)}.${value}`), cipher.final()]
    return Buffer.concat([nonce, ...content, cipher.getAuthTag()]).toString('base64url')
  }

  /** The value of an encrypted text; `undefined` if it was changed, is too old, or belongs to another name. */
  decrypt(name: string, text: string | null | undefined): string | undefined
  decrypt(name: string, ...texts: readonly (string | null | undefined)[]): string | undefined {
    const text = takeText('secrets.decrypt(name, text)', name, texts)
    const bytes = Buffer.from(text ?? '', 'base64url')
    // Node ignores characters that are not part of the encoding.
    if (bytes.length < nonceLength + tagLength || bytes.toString('base64url') !== text) return undefined
    for (const key of this.#encryptionKeys) {
      const content = decipher(key, bytes, name)
      if (content === undefined) continue
      const dot = content.indexOf('.')
      return this.#isValid(content.slice(0, dot)) ? content.slice(dot + 1) : undefined
    }
    return undefined
  }

  /** The keys are derived with the first use: most applications need only some of them. */
  get #signingKeys(): Keys {
    this.#signing ??= this.#deriveKeys('sign')
    return this.#signing
  }

  get #encryptionKeys(): Keys {
    this.#encryption ??= this.#deriveKeys('encrypt')
    return this.#encryption
  }

  #deriveKeys(purpose: Purpose): Keys {
    return [deriveKey(this.#secret, purpose), ...this.#oldSecrets.map(secret => deriveKey(secret, purpose))]
  }

  /** Seconds since 1970 as text; empty without an end. */
  #findEnd(seconds: number | undefined): string {
    if (seconds === undefined) return ''
    if (!Number.isInteger(seconds) || seconds < 1) throw new RangeError(`Use whole seconds from 1 on, not ${seconds}.`)
    return String(Math.floor(this.#now() / 1000) + seconds)
  }

  #isValid(end: string): boolean {
    return end === '' || this.#now() < Number(end) * 1000
  }
}

/** The key of the current secret comes first. */
type Keys = readonly [current: Buffer, ...old: Buffer[]]

const algorithm = 'aes-256-gcm'

/** Bytes, as NIST SP 800-38D recommends. */
const nonceLength = 12
const tagLength = 16

type Purpose = 'sign' | 'encrypt'

function deriveKey(secret: string, purpose: Purpose): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `sinfonietta ${purpose}`, 32))
}

/** The name comes last: the content has one dot, so no other content and name give the same text. */
function createSignature(key: Buffer, content: string, name: string): string {
  return createHmac('sha256', key).update(`${content}.${name}`).digest('base64url')
}

/** Compares in a time that does not depend on the texts. */
function isEqual(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other))
}

function decipher(key: Buffer, bytes: Buffer, name: string): string | undefined {
  const end = bytes.length - tagLength
  const opened = createDecipheriv(algorithm, key, bytes.subarray(0, nonceLength), { authTagLength: tagLength })
  opened.setAAD(Buffer.from(name)).setAuthTag(bytes.subarray(end))
  try {
    return Buffer.concat([opened.update(bytes.subarray(nonceLength, end)), opened.final()]).toString()
  } catch {
    return undefined
  }
}

/** A text of a client may be missing, but not the argument. @throws ARGUMENT_INVALID */
function takeText(call: string, name: string, texts: readonly (string | null | undefined)[]): string | undefined {
  const text = texts[0] ?? undefined
  checkArguments(call, ['string', texts.length === 0 ? 'string' : 'string?'], name, text)
  return text
}
