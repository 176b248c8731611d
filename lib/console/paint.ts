import { styleText } from 'node:util'

/** How a text stands out. */
export type Tone = 'plain' | 'strong' | 'muted' | 'ok' | 'warning' | 'error'

/** Makes a text stand out, where there are colours. */
export type Paint = (tone: Tone, text: string) => string

const formats = {
  strong: 'bold',
  muted: 'gray',
  ok: 'green',
  warning: 'yellow',
  error: 'red',
} as const satisfies Record<Exclude<Tone, 'plain'>, string>

/** Leaves every text as it is: for pipes and files. */
export const paintNothing: Paint = (_tone, text) => text

/** Colours texts by the codes of terminals. */
export const paintColours: Paint = (tone, text) =>
  tone === 'plain' || text === '' ? text : styleText(formats[tone], text, { validateStream: false })
