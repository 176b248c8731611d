import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'

/** Some 0.1 s and 32 MB for each password: a thief of the hashes cannot try many. */
const cost: ScryptOptions = { N: 2 ** 15, r: 8, p: 3, maxmem: 64 * 2 ** 20 }

/** Hashes a password with a salt of its own. The result is `salt.key`. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16)
  return `${salt.toString('base64url')}.${(await derive(password, salt)).toString('base64url')}`
}

/** Whether a hash is that of the password. Without a hash it takes as long, and the result is false. */
export async function isPassword(password: string, hash = '.'): Promise<boolean> {
  const [salt = '', key = ''] = hash.split('.')
  const derived = await derive(password, Buffer.from(salt, 'base64url'))
  const expected = Buffer.from(key, 'base64url')
  return expected.length === derived.length && timingSafeEqual(derived, expected)
}

function derive(password: string, salt: Buffer): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(password.normalize('NFKC'), salt, 32, cost, (error, key) => (error === null ? resolve(key) : reject(error)))
  })
}
