import { randomBytes } from 'node:crypto'

const drawLimit = 16

/**
 * Draws a token, six hexadecimal digits, that is not known yet; `undefined` after 16 known ones in a row, which only a
 * broken source of randomness gives.
 */
export function drawToken(isKnown: (token: string) => boolean, draw: () => string = createDraw()): string | undefined {
  for (let drawn = 0; drawn < drawLimit; drawn++) {
    const token = draw()
    if (!isKnown(token)) return token
  }
  return undefined
}

/**
 * Creates what draws six random hexadecimal digits. Randomness is fetched for 256 draws at once: to ask for three bytes
 * costs as much as all the rest of beginning a pass.
 */
export function createDraw(): () => string {
  let digits = ''
  let at = 0
  return () => {
    if (at === digits.length) {
      digits = randomBytes(256 * 3).toString('hex')
      at = 0
    }
    at += 6
    return digits.slice(at - 6, at)
  }
}
