import { randomBytes } from 'node:crypto'

const drawLimit = 16

/**
 * Draws a token, six hexadecimal digits, that is not known yet; `undefined` after 16 known ones in a row, which only a
 * broken source of randomness gives.
 */
export function drawToken(
  isKnown: (token: string) => boolean,
  draw: () => string = () => randomBytes(3).toString('hex'),
): string | undefined {
  for (let drawn = 0; drawn < drawLimit; drawn++) {
    const token = draw()
    if (!isKnown(token)) return token
  }
  return undefined
}
