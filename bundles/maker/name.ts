import { CommandUsageError } from '../../kernel/console-command.ts'

/** A name as it is written in files, in code, in routes and for people. */
export interface Name {
  readonly kebab: string
  readonly camel: string
  readonly pascal: string
  readonly snake: string
  readonly title: string
}

/** With two names of this length, no line of what is made is too long. */
const lengthLimit = 30

/** Reads a name such as `price-list`; what it is of need not stand in it once more. @throws CommandUsageError */
export function parseName(word: string, kind: string): Name {
  if (!/^[a-z][a-z\d]*(?:-[a-z\d]+)*$/.test(word)) {
    const right = toKebab(word) || 'price-list'
    throw new CommandUsageError(`"${word}" is no name: write it in lower case with hyphens, such as "${right}".`)
  }
  if (word.length > lengthLimit) throw new CommandUsageError(`"${word}" is longer than ${lengthLimit} characters.`)
  const ending = `-${kind}`
  return createName(word.endsWith(ending) ? word.slice(0, -ending.length) : word)
}

/** Makes the forms of a name that is right. */
export function createName(kebab: string): Name {
  const words = kebab.split('-')
  const pascal = words.map(capitalize).join('')
  return {
    kebab,
    camel: pascal.charAt(0).toLowerCase() + pascal.slice(1),
    pascal,
    snake: words.join('_'),
    title: capitalize(words.join(' ')),
  }
}

function capitalize(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}

function toKebab(word: string): string {
  return word
    .replace(/([a-z\d])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .replace(/[^a-z\d]+/g, '-')
    .replace(/^[^a-z]+|-+$/g, '')
    .slice(0, lengthLimit)
}
