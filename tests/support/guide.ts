import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'

/** A block of code in a guide. */
export interface GuideBlock {
  /** `ts`, `console` …; empty when none is named. */
  readonly language: string
  readonly text: string
  /** The file that the block contains or changes, by its first line, or for JSON behind the language. */
  readonly file: string | undefined
}

/** A command of a `console` block, and its output. */
export interface GuideCommand {
  readonly line: string
  readonly output: string
}

/** Reads the blocks of a guide. */
export function readGuide(file: string): GuideBlock[] {
  return parseGuide(readFileSync(file, 'utf8'))
}

/** Reads the files of a guide's example, as blocks; none if the guide has no example. */
export function readExample(folder: string): GuideBlock[] {
  const names = existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }).toSorted() : []
  return names
    .filter(name => statSync(path.join(folder, name)).isFile())
    .map(file => ({ language: path.extname(file).slice(1), text: readFileSync(path.join(folder, file), 'utf8'), file }))
}

/** Reads the blocks of a guide's text. @throws Error if a fence is misplaced, because its block would not be tested */
export function parseGuide(markdown: string): GuideBlock[] {
  const blocks = [...markdown.matchAll(/^```(.*)\n([\s\S]*?)^```$/gm)].map(([, info = '', text = '']) => ({
    language: info.replace(/ .*/, ''),
    text,
    // JSON has no comments: its file is behind the language.
    file: /^json (\S+)$/.exec(info)?.[1] ?? /^(?:\/\/|\/\*|\{\{!--|---) (\S+\.\w+)(?: \*\/| --\}\})?\n/.exec(text)?.[1],
  }))
  const fences = [...markdown.matchAll(/```/g)]
  if (fences.length !== 2 * blocks.length) throw new Error('There is a block that cannot be read.')
  return blocks
}

/** Takes a `console` block apart: each line with a `$` is a command. */
export function readCommands({ text }: GuideBlock): GuideCommand[] {
  return text
    .split(/^\$ /m)
    .slice(1)
    .map(each => {
      const [line = '', ...output] = each.split('\n')
      return { line, output: output.join('\n').trimEnd() }
    })
}

/** Whether an output is the one that a guide shows, where `…` stands for some text, or alone for some lines. */
export function isOutput(actual: string, shown: string): boolean {
  const lines = shown.split('\n').map(line => (line === '…' ? '(?:.*\\n)*' : `${toPattern(line)}\\n`))
  return new RegExp(`^${lines.join('')}$`).test(`${actual}\n`)
}

/** Whether lines stand in a text, in a row and however far they are indented. */
export function isExcerpt(lines: string, text: string): boolean {
  return outdent(text).includes(outdent(lines))
}

/**
 * Changes a text as a `diff` block says: lines with a `-` go, lines with a `+` come where the line before them was
 * found. A `…` stands for lines that stay as they are.
 */
export function applyDiff(text: string, diff: string): string {
  const lines = text.split('\n')
  let position = 0
  for (const change of diff.trimEnd().split('\n').slice(1)) {
    const [mark, line] = [change[0], change.slice(1)]
    if (change === '…') continue
    if (mark === '+') {
      lines.splice(position++, 0, line)
      continue
    }
    const found = lines.indexOf(line, position)
    if (found === -1) throw new Error(`There is no line "${line}" to change.`)
    position = mark === '-' ? found : found + 1
    if (mark === '-') lines.splice(found, 1)
  }
  return lines.join('\n')
}

function toPattern(line: string): string {
  return line.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&').replaceAll('…', '.*')
}

function outdent(text: string): string {
  return text.replace(/^[ \t]+/gm, '')
}
