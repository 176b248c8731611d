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

/** Draws the six hexadecimal digits that tell a request from all others in flight; they have nothing to do with its token. */
export function drawStopwatchToken(): string {
  // Guessing it gains nothing, and real randomness costs more than the rest of beginning a pass.
  return Math.floor(Math.random() * 0x1000000)
    .toString(16)
    .padStart(6, '0')
}
