import type { DataForm } from '../../profile/links.ts'
import { choiceParameter, countParameter, type Parameter, withDefault } from './parameter.ts'

/** In which form a tool answers, and at what length; all tools take these. */
export const answerParameters: {
  readonly format: Parameter<'markdown' | 'json'>
  readonly max_length: Parameter<number>
} = {
  format: withDefault(choiceParameter('the form of the answer', ['markdown', 'json']), 'markdown'),
  max_length: withDefault(countParameter('so many characters of the answer at most', 200_000, 500), 20_000),
}

/** What was asked for. */
export interface AnswerOptions {
  readonly format: 'markdown' | 'json'
  readonly max_length: number
}

/** The forms of an answer; only the one that is asked for is made. */
export type AnswerForms = Readonly<Record<DataForm, () => unknown>>

/**
 * Answers in one of two forms. What is too long is cut, at the end of a line where there is one; that, and the remarks,
 * are said in a text of their own: nothing that was recorded can pretend to be one.
 */
export function answer(forms: AnswerForms, options: AnswerOptions, ...remarks: readonly string[]): string[] {
  const text = options.format === 'json' ? JSON.stringify(forms.json()) : String(forms.md())
  const kept = cut(text, options.max_length)
  const left = text.length - kept.length
  const notes = left === 0 ? remarks : [`Cut: ${left.toLocaleString('en')} more characters. ${wayOn}`, ...remarks]
  return notes.length === 0 ? [kept] : [kept, notes.join('\n')]
}

const wayOn = 'Ask for less (a panel, a lower limit), or raise max_length.'

function cut(text: string, limit: number): string {
  if (text.length <= limit) return text
  const end = text.lastIndexOf('\n', limit)
  return text.slice(0, end > 0 ? end : limit).toWellFormed()
}
