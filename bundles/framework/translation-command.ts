import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import type { Foundation } from '../../kernel/bundle.ts'
import { type ConsoleCommand, exitCodes } from '../../kernel/contracts/console-command.ts'
import type { Block } from '../../lib/console/document.ts'
import { showPath } from '../../lib/stack/stack-frames.ts'
import { isKeyed } from '../../lib/text/describe-value.ts'
import { suggestNames } from '../../lib/text/mistakes.ts'
import { readHelperCalls } from '../../lib/view/template-uses.ts'

/** The checked options of `createTranslationCommand`. */
interface Translations {
  readonly texts: Readonly<Record<string, object>>
  readonly helper: string
}

/**
 * Creates the command that lists the keys that templates or sources use and a language lacks, also
 * forms of its plurals, and those that nothing uses.
 */
export function createDebugTranslation(
  { directory, view }: Pick<Foundation, 'directory' | 'view'>,
  { helper, texts }: Translations,
): ConsoleCommand {
  const catalogues = Object.entries(texts).map(([language, content]) => readCatalogue(language, content))
  const languages = catalogues.map(({ language }) => language)
  return {
    name: 'debug:translation',
    description: 'Lists the keys of texts that a language lacks, and those that nothing uses',
    arguments: [
      {
        name: 'language',
        description: 'only this language',
        isOptional: true,
        suggest: () => languages.map(language => [language, '']),
      },
    ],
    examples: [
      { line: 'debug:translation', purpose: 'fails if a language lacks a key' },
      { line: 'debug:translation de --json', purpose: 'lists the keys of one language for programs' },
    ],
    run({ arguments: { language } }, output) {
      if (language !== undefined && !languages.includes(language)) {
        const advice = suggestNames(language, languages) || `: there are ${languages.join(', ')}`
        output.error(`There are no texts in the language "${language}"${advice}.`)
        return exitCodes.failure
      }
      view.load()
      const uses = readUses(directory, view, helper)
      const chosen = catalogues.filter(each => language === undefined || each.language === language)
      const found = compare(chosen, catalogues, uses)
      output.print({ blocks: toBlocks(found), json: { keys: found, computed: uses.computed } })
      if (uses.computed.length > 0) {
        const places = uses.computed.join(', ')
        output.note(`The keys of these calls are computed, so keys that only they use are listed as unused: ${places}.`)
      }
      if (uses.keys.size + uses.computed.length === 0 && found.some(({ state }) => state === 'unused'))
        output.note(`No template calls the helper "${helper}": if yours has another name, it is the option "helper".`)
      const missing = found.filter(({ state }) => state === 'missing').length
      if (missing === 0)
        output.note(`No language of ${chosen.map(each => each.language).join(', ')} lacks a key.`, 'ok')
      return missing === 0 ? exitCodes.success : exitCodes.failure
    },
  }
}

/** The texts of a language. */
interface Catalogue {
  readonly language: string
  readonly keys: ReadonlySet<string>
  /** The forms of plurals that the language has, as suffixes: `_one`, `_ordinal_few`. */
  readonly forms: readonly string[]
}

function readCatalogue(language: string, content: object): Catalogue {
  const categoriesOf = (type: 'cardinal' | 'ordinal') =>
    new Intl.PluralRules(language, { type }).resolvedOptions().pluralCategories
  const ordinals = categoriesOf('ordinal').map(category => `_ordinal_${category}`)
  const forms = [...categoriesOf('cardinal').map(category => `_${category}`), ...ordinals]
  return { language, keys: new Set(flatten(content)), forms }
}

function flatten(texts: object, prefix = ''): string[] {
  return Object.entries(texts).flatMap(([key, value]) =>
    isKeyed(value) ? flatten(value, `${prefix}${key}.`) : `${prefix}${key}`,
  )
}

/** What templates and sources use. */
interface Uses {
  /** The places of keys in templates. */
  readonly keys: ReadonlyMap<string, readonly string[]>
  /** Keys of templates with a `context`, which have more forms. */
  readonly contexts: readonly string[]
  /** The places of calls with a computed key. */
  readonly computed: readonly string[]
  /** All texts in quotes of the sources. */
  readonly literals: ReadonlySet<string>
}

function readUses(directory: string, view: Foundation['view'], helper: string): Uses {
  const keys = new Map<string, string[]>()
  const contexts: string[] = []
  const computed: string[] = []
  for (const { file } of view.files()) {
    const shown = showPath(file, directory)
    // Templates of packages have texts of their own.
    if (path.isAbsolute(shown) || shown.startsWith(`node_modules${path.sep}`)) continue
    for (const { line, named, positional } of readHelperCalls(file, helper)) {
      const [key] = positional
      const place = `${shown}:${line}`
      if (typeof key !== 'string') computed.push(place)
      else keys.set(key, [...(keys.get(key) ?? []), place])
      if (typeof key === 'string' && 'context' in named) contexts.push(key)
    }
  }
  return { keys, contexts, computed, literals: new Set(listSources(directory).flatMap(readLiterals)) }
}

/** Folders of an application without sources that run. */
const otherFolders: ReadonlySet<string> = new Set(['coverage', 'dist', 'node_modules', 'public', 'tests', 'var'])

function listSources(directory: string): string[] {
  return readdirSync(directory, { withFileTypes: true }).flatMap(entry => {
    const file = path.join(directory, entry.name)
    if (entry.isDirectory()) return otherFolders.has(entry.name) || entry.name.startsWith('.') ? [] : listSources(file)
    return /\.[cm]?[jt]sx?$/.test(entry.name) ? file : []
  })
}

/** The texts in quotes of a source, without the names of properties: a catalogue has its keys there. */
function readLiterals(file: string): string[] {
  const found = [...readFileSync(file, 'utf8').matchAll(quoted)]
  return found.flatMap(([, start, , text = '', end]) => (start !== undefined && end !== undefined ? [] : text))
}

/**
 * Each quote, with the text until the next one on its line, and what makes that the name of a
 * property: `{ 'cart.empty': …`, but not `isEmpty ? 'a' : 'b'`. An apostrophe in a comment or in
 * JSX begins a text, too, so no text is missed.
 */
const quoted = /(?<=(^[ \t]*|[{,]\s*)?)(['"`])(?=((?:(?!\2)[^\\\n])+)\2([ \t]*:)?)/gm

/** A key that is wrong in some languages. */
interface FoundKey {
  readonly state: 'missing' | 'unused'
  readonly key: string
  readonly languages: readonly string[]
  /** Where templates use it. */
  readonly places: readonly string[]
}

function compare(chosen: readonly Catalogue[], all: readonly Catalogue[], uses: Uses): FoundKey[] {
  const plurals = findPlurals(all, uses)
  const wanted = new Set([
    ...uses.keys.keys(),
    ...all.flatMap(({ keys }) => [...keys].map(key => baseOf(key, plurals))),
  ])
  const found = new Map<string, FoundKey>()
  const add = (state: FoundKey['state'], key: string, base: string, language: string) => {
    const name = `${state} ${key}`
    const languages = [...(found.get(name)?.languages ?? []), language]
    found.set(name, { state, key, languages, places: uses.keys.get(base) ?? [] })
  }
  for (const { forms, keys, language } of chosen) {
    for (const base of wanted) {
      // Which forms a context has is known when a page is rendered.
      if (uses.contexts.some(key => base === key || base.startsWith(`${key}_`))) continue
      const isUsed = uses.keys.has(base) || uses.literals.has(base)
      const missing = isUsed ? formsOf(base, plurals, forms).filter(key => !keys.has(key)) : []
      for (const key of missing) add('missing', key, base, language)
      const unused = isUsed ? [] : [...keys].filter(key => baseOf(key, plurals) === base)
      for (const key of unused) add('unused', key, base, language)
    }
  }
  return [...found.values()].sort(
    (one, other) => compareTexts(one.state, other.state) || compareTexts(one.key, other.key),
  )
}

function compareTexts(one: string, other: string): number {
  return one < other ? -1 : Number(one > other)
}

/** The forms of a key that a language needs: one, or those of its plurals. */
function formsOf(base: string, plurals: Plurals, forms: readonly string[]): string[] {
  const types = plurals.get(base)
  if (types === undefined) return [base]
  return forms.filter(form => types.has(form.startsWith('_ordinal') ? 'ordinal' : 'cardinal')).map(form => base + form)
}

/** The kinds of plurals of keys. */
type Plurals = ReadonlyMap<string, ReadonlySet<'cardinal' | 'ordinal'>>

const pluralForm = /^(.+?)(_ordinal)?_(zero|one|two|few|many|other)$/

/** A key has plurals if a language has several forms of it, or if a template uses it and a language has `_other`. */
function findPlurals(all: readonly Catalogue[], uses: Uses): Plurals {
  const plurals = new Map<string, Set<'cardinal' | 'ordinal'>>()
  for (const { keys } of all) {
    for (const key of keys) {
      const [, base = '', ordinal, category] = pluralForm.exec(key) ?? []
      if (category !== 'other') continue
      const others = ['zero', 'one', 'two', 'few', 'many'].some(each => keys.has(`${base}${ordinal ?? ''}_${each}`))
      if (!others && !uses.keys.has(base)) continue
      plurals.set(base, (plurals.get(base) ?? new Set()).add(ordinal === undefined ? 'cardinal' : 'ordinal'))
    }
  }
  return plurals
}

/** The key that code uses for a form of its plurals. */
function baseOf(key: string, plurals: Plurals): string {
  const [, base = key] = pluralForm.exec(key) ?? []
  return plurals.has(base) ? base : key
}

function toBlocks(found: readonly FoundKey[]): Block[] {
  if (found.length === 0) return []
  const columns = [
    { title: 'State', cut: 'never' },
    { title: 'Key', cut: 'never' },
    { title: 'Languages' },
    { title: 'Used in', isOptional: true },
  ] as const
  const rows = found.map(({ key, languages, places, state }) => [
    state,
    key,
    languages.join(', '),
    places.join(', ') || (state === 'missing' ? 'a source' : 'nothing'),
  ])
  return [{ kind: 'table', table: { columns, rows } }]
}
