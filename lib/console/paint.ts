import { styleText } from 'node:util'

/** The meaning of a text, which decides its colour. */
export type TextTone = 'plain' | 'strong' | 'muted' | 'ok' | 'warning' | 'error'

/** Colours a text by its tone. */
export type Paint = (tone: TextTone, text: string) => string

const formats = {
  strong: 'bold',
  muted: 'gray',
  ok: 'green',
  warning: 'yellow',
  error: 'red',
} as const satisfies Record<Exclude<TextTone, 'plain'>, string>

/** Leaves texts unchanged: for pipes and files. */
export const paintNothing: Paint = (_tone, text) => text

/** Colours texts with the escape sequences of terminals. */
export const paintColours: Paint = (tone, text) =>
  tone === 'plain' || text === '' ? text : styleText(formats[tone], text, { validateStream: false })
