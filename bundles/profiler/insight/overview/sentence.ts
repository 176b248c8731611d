import { formatPlace, shorten, toOneLine } from '../../profile/format.ts'
import type { SentencePart } from '../findings/finding.ts'

/** A sentence: its own texts, links, and the recorded values in it. */
export type Sentence = readonly (string | LinkedText | RecordedText)[]

/** An own text of a sentence that leads to its details. */
interface LinkedText {
  readonly text: string
  readonly link: string
}

/** A recorded value in a sentence. Pages and reports show it as code. */
interface RecordedText {
  readonly value: string
  /** Whether it is a place in the source, and no text that looks like one, such as `127.0.0.1:25`. */
  readonly isPlace?: boolean
  /** Whether another program has recorded it: a place in it is no file of this one. */
  readonly isForeign?: true
}

/** Creates a recorded value of a sentence: on one line, not empty, and not longer than the limit. */
export function toValue(text: string, limit: number): RecordedText {
  return { value: shorten(text.replace(/[\s\p{Cc}]+/gu, ' ').trim() || '…', limit - 1) }
}

const messageLimit = 120

/** Creates the value for a message. A long one keeps both ends: libraries put the reason behind a statement. */
export function toMessage(text: string): RecordedText {
  const line = toOneLine(text).replace(/\.$/, '')
  if (line.length <= messageLimit) return toValue(line, messageLimit + 1)
  const start = line.slice(0, messageLimit / 2).replace(/\s\S{0,20}$/, '')
  const end = line.slice(-messageLimit / 2).replace(/^\S{0,20}\s/, '')
  return { value: `${start} … ${end}`.toWellFormed() }
}

const placeLimit = 40

/** Creates the value for a place in the source. Of a long path it has the last folders and the name of the file. */
export function toPlaceValue(file: string, line: number | undefined): RecordedText {
  const place = formatPlace({ file, line })
  if (place.length <= placeLimit) return { ...toValue(place, placeLimit + 1), isPlace: true }
  const end = place.slice(2 - placeLimit)
  return toValue(`…${end.slice(Math.max(0, end.indexOf('/')))}`, placeLimit + 1)
}

/** A part of the sentence of an overview. */
export interface OverviewPart extends SentencePart {
  /** The place of its details; empty without one. */
  readonly link: string
  /** Whether the value is a place in the source of this program. */
  readonly isPlace?: boolean
  /** Whether the value is that of another program. */
  readonly isForeign?: boolean
}

/** Marks the values of a sentence as those of another program. */
export function toForeign(sentence: Sentence): Sentence {
  return sentence.map(part => (typeof part !== 'string' && 'value' in part ? { ...part, isForeign: true } : part))
}

/** Whether a sentence is about another program. */
export function isForeign(sentence: Sentence = []): boolean {
  return sentence.some(part => typeof part !== 'string' && 'value' in part && part.isForeign === true)
}

/** Divides a sentence into its own texts and the recorded values. */
export function toParts(sentence: Sentence): OverviewPart[] {
  return sentence.map(part => {
    if (typeof part === 'string') return { text: part, isValue: false, link: '' }
    if ('link' in part) return { ...part, isValue: false }
    const { isForeign = false, isPlace = false, value } = part
    return { text: value, isValue: true, link: '', ...(isForeign ? { isForeign } : isPlace && { isPlace }) }
  })
}

/** Writes a sentence as plain text. */
export function toPlainText(parts: readonly Pick<SentencePart, 'text'>[]): string {
  return parts.map(({ text }) => text).join('')
}
