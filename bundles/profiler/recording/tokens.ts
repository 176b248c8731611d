import { randomFillSync } from 'node:crypto'

const drawLimit = 16

/**
 * Draws a token, six hexadecimal digits, that is not known yet; `undefined` after 16 known ones in a row, which only a
 * broken source of randomness gives.
 */
export function drawToken(isKnown: (token: string) => boolean, draw: () => string = drawSixDigits): string | undefined {
  for (let drawn = 0; drawn < drawLimit; drawn++) {
    const token = draw()
    if (!isKnown(token)) return token
  }
  return undefined
}

const bytesOfToken = 3

/** Random bytes are had in bulk: three alone would cost as much as a thousand. */
const pool = Buffer.alloc(256 * bytesOfToken)
let drawn = pool.length

/** Six random hexadecimal digits. */
export function drawSixDigits(): string {
  if (drawn === pool.length) {
    randomFillSync(pool)
    drawn = 0
  }
  drawn += bytesOfToken
  return pool.toString('hex', drawn - bytesOfToken, drawn)
}
