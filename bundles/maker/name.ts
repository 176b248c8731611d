import { CommandUsageError } from '../../kernel/console-command.ts'

/** A name in the spellings of files, code, routes and titles. */
export interface Name {
  readonly kebab: string
  readonly camel: string
  readonly pascal: string
  readonly snake: string
  readonly title: string
}

/** With two names of this length, no generated line is too long. */
const lengthLimit = 30

/** Parses a name such as `price-list`. A suffix with the kind (`-bundle`) is removed. @throws CommandUsageError */
export function parseName(word: string, kind: string): Name {
  if (!/^[a-z][a-z\d]*(?:-[a-z\d]+)*$/.test(word)) {
    const right = toKebab(word) || 'price-list'
    throw new CommandUsageError(`"${word}" is no name: write it in lower case with hyphens, such as "${right}".`)
  }
  if (word.length > lengthLimit) throw new CommandUsageError(`"${word}" is longer than ${lengthLimit} characters.`)
  const ending = `-${kind}`
  return createName(word.endsWith(ending) ? word.slice(0, -ending.length) : word)
}

/** Creates the spellings of a valid name. */
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
