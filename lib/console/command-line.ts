import { type ParseArgsConfig, parseArgs } from 'node:util'
import { readProperty } from '../text/describe-value.ts'
import { quoteNearest, suggestNames } from '../text/mistakes.ts'

/** Options of `parseArgs`. `alone` is the value of an option that no value follows. */
type WordOptions = NonNullable<ParseArgsConfig['options']> & Readonly<Record<string, { readonly alone?: string }>>

/**
 * Reads the words of a command line. The help has the options that a message suggests. A negative number is a value. A
 * blank value is refused: a variable of the shell that is not set does not choose a default. @throws Error
 */
export function parseWords<const options extends WordOptions>(
  words: readonly string[],
  { help, options, takesArguments = false }: { help: string; options: options; takesArguments?: boolean },
): ReturnType<typeof parseArgs<{ options: options; allowPositionals: true }>> {
  try {
    const parsed = parseArgs({ args: joinValues(words, options), options, allowPositionals: takesArguments })
    for (const [name, value] of Object.entries(parsed.values)) {
      if (typeof value === 'string' && value.trim() === '') throw new Error(`The value of --${name} is empty`)
    }
    return parsed
  } catch (error) {
    throw new Error(describeUsage(String(readProperty(error, 'message')), help), { cause: error })
  }
}

/** For `parseArgs`, an option has a value always or never, and no separate value begins with a hyphen. */
function joinValues(words: readonly string[], options: WordOptions): string[] {
  const args = [...words]
  for (let index = 0; index < args.length && args[index] !== '--'; index++) {
    const word = args[index] ?? ''
    const { alone, type } = (word.startsWith('--') && options[word.slice(2)]) || {}
    const next = args[index + 1] ?? '-'
    if (type !== 'string') continue
    if (/^-\d/.test(next)) args.splice(index, 2, `${word}=${next}`)
    else if (alone !== undefined && next.startsWith('-')) args[index] = `${word}=${alone}`
  }
  return args
}

/** Options by the names that other programs give them. */
const otherNames: Readonly<Record<string, string>> = {
  ...{ address: 'host', bind: 'host', ip: 'host', listen: 'host' },
  ...{ cluster: 'workers', instances: 'workers', processes: 'workers', threads: 'workers' },
  ...{ dev: 'env dev', development: 'env dev', prod: 'env prod', production: 'env prod' },
  ...{ db: 'database', since: 'from', after: 'from', before: 'until', count: 'limit', max: 'limit' },
}

/**
 * The end of a message about an unknown option: the name that it has here, or those that have a part of it or are
 * similar: `: write --host`, `; the nearest is "--port"`. Empty without such names.
 */
export function suggestOption(option: string, known: readonly string[]): string {
  const name = option.replace(/^-+/, '')
  const meant = otherNames[name] ?? ''
  if (known.includes(meant.replace(/ .*/, ''))) return `: write --${meant}`
  const isPart = (each: string) =>
    each.startsWith(name) || (name.length > 2 && (each.split('-').includes(name) || name.startsWith(each)))
  const dash = (names: readonly string[]) => names.map(each => `--${each}`)
  const parts = known.filter(isPart)
  return parts.length > 0 ? quoteNearest(dash(parts)) : suggestNames(option, dash(known))
}

/**
 * Describes what is refused in a command line, with the options of the help that have a part of an unknown name or are
 * similar, or the variable that it stands for.
 */
function describeUsage(message: string, help: string): string {
  const known = [...new Set(Array.from(help.matchAll(/^ {2}(?:-\w, )?--([\w-]+)/gm), ([, each = '']) => each))]
  const [, word] = /^Unexpected argument '([^']*)'/.exec(message) ?? []
  if (word !== undefined) {
    const isNamed = known.includes(word.replace(/=.*/, ''))
    const advice = word.startsWith('-')
      ? `write ${word} without -- before it`
      : isNamed || (/^\d+$/.test(word) && known.includes('port'))
        ? `write --${isNamed ? word : `port ${word}`}`
        : 'there are only options, which begin with --'
    return `"${word}" is no argument: ${advice}.`
  }
  const [, option = '', name = ''] = /^Unknown option '(-+([^']*))'/.exec(message) ?? []
  const [, idle = ''] = /^Option '(?:-\w, )?--([\w-]+) <value>' argument missing/.exec(message) ?? []
  const [written] = new RegExp(`--${idle} <[^>]+>`).exec(help) ?? []
  if (idle !== '' && written !== undefined) return `The value of --${idle} is missing: write ${written}.`
  // Node adds advice on its syntax.
  if (option === '') return `${message.split(/\.\s/)[0]?.replace(/\.$/, '')}.`
  const variable = `PROFILER_${name.toUpperCase().replaceAll('-', '_')}`
  const isVariable = help.includes(` ${variable} `) && !known.some(each => each.includes(name))
  return `There is no option ${option}${isVariable ? `: set the variable ${variable}` : suggestOption(option, known)}.`
}
