import { isUtf8 } from 'node:buffer'
import { readFileSync } from 'node:fs'
import path from 'node:path'
import { showPath } from '../stack/stack-frames.ts'
import { nearestNames, quoteNearest, suggestNames } from '../text/mistakes.ts'
import { VIEW_TEMPLATE_INVALID } from './errors.ts'
import { addFrames, describeToken, loopHint, type TemplatePlace } from './failed-place.ts'
import { dataNames } from './globals.ts'
import { blockHelpers } from './handlebars.ts'
import {
  explainSyntax,
  findEncoding,
  findForeignTag,
  type LexerToken,
  noOperators,
  type TextMistake,
} from './syntax-mistakes.ts'
import { readTemplate, type TemplateFile, type UnusedTemplate } from './template-files.ts'
import { createReader, namesOf, type Parse, partialNames, type Use, type WrittenCall } from './template-uses.ts'

/** The name by which a template inserts the block of its call. */
const block = '@partial-block'

/** What a check needs of the template engine. */
export interface TemplateEngine {
  readonly parse: Parse
  /** Where the parser has stopped. */
  readonly token: () => LexerToken
  readonly helpers: ReadonlySet<string>
  /** The checks of helpers that have one. */
  readonly checks: ReadonlyMap<string, HelperCheck>
  readonly globals: ReadonlySet<string>
}

/** Checks a call of a helper. @throws Error whose message is the mistake */
export type HelperCheck = (call: WrittenCall) => void

/**
 * Parses all templates: Handlebars itself would compile them, and find their mistakes, at the first
 * render. `sources` are their texts by name. Messages show files below the directory relative to it. The
 * callback lists files that are not used as templates: they may be the reason of a mistake. Returns the
 * globals that pages and their partials use, by the names of the pages; pages without any are left out.
 *
 * @throws VIEW_TEMPLATE_INVALID with every mistake
 */
export function checkTemplates(
  files: readonly TemplateFile[],
  sources: ReadonlyMap<string, string>,
  { checks, globals, helpers, parse, token }: TemplateEngine,
  directory: string,
  listUnused: () => readonly UnusedTemplate[],
): ReadonlyMap<string, readonly string[]> {
  const mistakes: Mistake[] = []
  const show = (file: string) => showPath(file, directory)
  const add = ({ file, name }: TemplateFile, { text, ...place }: TextMistake) =>
    mistakes.push({ name, file, text: `${show(file)}: line ${place.line}: ${text}`, ...place })
  const read = createReader(parse)
  const parsed = files.flatMap(each => {
    const { file, name, replaces } = each
    const source = sources.get(name) ?? ''
    const found = findEncoding(source, () => isUtf8(readFileSync(file))) ?? findForeignTag(source)
    if (found !== undefined) add(each, found)
    try {
      const uses = read(source)
      return { file, name, uses, replaces, replaced: replaces === undefined ? [] : read(readTemplate(replaces)) }
    } catch (error) {
      // Handlebars throws errors. A text of another encoding has many.
      if (!source.includes('\0')) add(each, explainSyntax(source, (error as Error).message, token()))
      return []
    }
  })
  // The inline partials of replaced templates, too: a layout that needs one of them has no mistake of its own.
  const inline = parsed.flatMap(({ replaced, uses }) => namesOf('inline', [...uses, ...replaced]))
  const templates = new Set([...sources.keys(), ...inline])
  const called = new Set(parsed.flatMap(({ uses }) => partialNames(uses)))
  const dropsBlock = ({ name, uses }: (typeof parsed)[number]) =>
    !inline.includes(name) && !partialNames(uses).includes(block)
  const dropping = new Set(parsed.filter(dropsBlock).map(({ name }) => name))
  const explainMissing = (name: string) => {
    const unused = listUnused()
    const found = unused.find(each => each.name === name)
    if (found !== undefined) return `: the file ${show(found.file)} exists, but ${found.reason}`
    // A page that is not used fills this part of a layout.
    if (unused.some(each => definesInline(each, name, read))) return undefined
    return suggestTemplates(name, templates) || (layoutHint.get(name) ?? explainFile(name))
  }
  const names = { templates, called, dropping, helpers, checks, globals, explainMissing }
  for (const { file, name, replaced, replaces, uses } of parsed) {
    for (const mistake of findMistakes(uses, names)) add({ file, name }, mistake)
    for (const loss of findLosses(uses, replaced, name => sources.has(name))) {
      mistakes.push({
        name,
        file,
        text: `${show(file)}: it replaces ${show(replaces ?? '')}, ${loss}`,
        line: 1,
        column: 1,
      })
    }
  }
  if (mistakes.length === 0) return findGlobals(parsed, globals)
  throw addFrames(new VIEW_TEMPLATE_INVALID([mistakes.map(({ text }) => text).join('\n')]), mistakes)
}

const layout =
  ': a layout is a partial with a block, {{#> layout}} … {{/layout}}, and inserts it by {{> @partial-block}}'

/** How templates of other frameworks name a layout and its parts. */
const layoutHint: ReadonlyMap<string, string> = new Map(
  ['extends', 'extend', 'layout', 'block', 'body', 'children', 'content', 'outlet', 'yield', 'section', 'slot'].map(
    name => [name, layout],
  ),
)

/** Words of other languages for blocks and partials. */
const blockHint: ReadonlyMap<string, string> = new Map([
  ...['include', 'import', 'partial', 'component'].map(name => [name, ': write {{> folder/partial}}'] as const),
  ...['elseif', 'elsif', 'elif'].map(name => [name, ': write {{else if value}}'] as const),
  ...['for', 'foreach', 'map'].map(name => [name, ': write {{#each items}} … {{/each}}'] as const),
])

interface Mistake extends TemplatePlace {
  /** The message, with the file and the line. */
  readonly text: string
}

/** The names that a template may use. */
interface KnownNames {
  readonly templates: ReadonlySet<string>
  /** The names of the partials that are called. */
  readonly called: ReadonlySet<string>
  /** The names of templates that do not insert the block of their call. */
  readonly dropping: ReadonlySet<string>
  readonly helpers: ReadonlySet<string>
  readonly checks: TemplateEngine['checks']
  readonly globals: ReadonlySet<string>
  /** Returns the end of the message about a missing partial; `undefined` if it is no mistake. */
  readonly explainMissing: (name: string) => string | undefined
}

/** The globals that templates use, in themselves and in their partials. */
function findGlobals(
  templates: readonly { readonly name: string; readonly uses: readonly Use[] }[],
  globals: ReadonlySet<string>,
): ReadonlyMap<string, readonly string[]> {
  const used = new Map<string, readonly string[]>()
  if (globals.size === 0) return used
  const byName = new Map(templates.map(each => [each.name, each.uses]))
  for (const { name } of templates) {
    const reached = new Set([name])
    // A set may grow while it is iterated.
    for (const each of reached) for (const partial of partialNames(byName.get(each) ?? [])) reached.add(partial)
    const own = namesOf(
      'global',
      [...reached].flatMap(each => byName.get(each) ?? []),
    ).filter(each => globals.has(each))
    if (own.length > 0) used.set(name, [...new Set(own)])
  }
  return used
}

/** Whether a template has an inline partial. Mistakes of its grammar do not matter: it is not used. */
function definesInline({ file }: TemplateFile, name: string, read: (source: string) => readonly Use[]): boolean {
  try {
    return namesOf('inline', read(readTemplate(file))).includes(name)
  } catch {
    return false
  }
}

/**
 * Yields the mistakes that Handlebars would find only during a render, or not at all: partials and
 * helpers that do not exist, calls that a helper refuses, blocks and inline partials that are not
 * shown, partials with a computed name (no name may come from data), and unescaped output.
 */
function* findMistakes(uses: readonly Use[], known: KnownNames): Generator<TextMistake> {
  for (const use of uses) {
    const text = mistakeOf(use, known)
    if (text !== undefined) yield { text, line: use.line, column: use.column }
  }
}

function mistakeOf(
  { call, form, hasContent, kind, name }: Use,
  { called, checks, dropping, explainMissing, globals, helpers, templates }: KnownNames,
): string | undefined {
  switch (kind) {
    case 'computed':
      return 'a partial must be named, not computed'
    case 'decorator':
      return 'an inline partial is {{#*inline "name"}} … {{/inline}}, with its name in quotes'
    case 'operator':
      return noOperators
    case 'partial':
    case 'layout': {
      if (hasContent && dropping.has(name))
        return `"${name}" does not show the block: insert it there with {{> ${block}}}`
      if (name === block || templates.has(name)) return undefined
      const end = explainMissing(name)
      if (end === undefined) return undefined
      return `there is no partial "${name}"${end}`
    }
    case 'inline': {
      // A similar name of a few letters is often another one.
      const nearest = called.has(name) ? [] : nearestNames(name, called, Math.max(1, name.length / 3))
      return nearest.length === 0 ? undefined : `no template calls the partial "${name}"${quoteNearest(nearest)}`
    }
    case 'unescaped': {
      const right = layoutHint.get(name) ?? ': use two braces; HTML of your own comes from a helper, as an HtmlFragment'
      return `output must be escaped${right}`
    }
    case 'global':
      if (dataNames.has(name) || globals.has(name)) return undefined
      return `there is no global "@${name}"${loopHint.get(name) ?? suggestNames(name, globals)}`
    case 'helper':
      if (!helpers.has(name)) {
        const hint = layoutHint.get(name) ?? blockHint.get(name) ?? describeToken(name)
        return `there is no helper "${name}"${hint ?? suggestHelper(name, helpers)}`
      }
      return misuseOf(name, form) ?? findRefusal(checks.get(name), call)
    case 'section':
    case 'value': {
      if (!helpers.has(name)) return undefined
      const refusal = misuseOf(name, form) ?? findRefusal(checks.get(name), call)
      if (form === 'argument' || (form === 'block' && blockHelpers.includes(name))) return refusal
      return refusal && `${refusal}\nA value of the page that has the name of a helper is {{this.${name}}}.`
    }
    default:
      return undefined
  }
}

function suggestHelper(name: string, helpers: Iterable<string>): string {
  // A similar name of a few letters is often another one.
  const nearest = nearestNames(name, helpers, Math.max(1, name.length / 3))
  return quoteNearest(nearest) || `: a bundle adds it by view.addHelper('${name}', function)`
}

/** A helper gets no block: Handlebars would leave out its content, and would not escape what the helper returns. */
function misuseOf(name: string, form: Use['form']): string | undefined {
  const isBlock = blockHelpers.includes(name)
  if (isBlock === (form === 'block')) return undefined
  return isBlock
    ? `{{${name}}} is a block: write {{#${name} value}} … {{else}} … {{/${name}}}`
    : `{{#${name}}} is no block: write {{${name} …}}, or {{#if (${name} …)}} … {{/if}}`
}

function findRefusal(check: HelperCheck | undefined, call: WrittenCall | undefined): string | undefined {
  if (check === undefined || call === undefined) return undefined
  try {
    check(call)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

/** The end of a message about a partial that nothing resembles. */
function explainFile(name: string): string {
  return /^[\w/-]+$/.test(name) ? `: its file would be templates/${name}.hbs` : ''
}

/** The end of a message about an unknown template: similar names, or those of files with the same name. */
export function suggestTemplates(name: string, known: Iterable<string>): string {
  const names = [...known]
  const bare = name.replace(/\.\w+$/, '')
  if (bare !== name && names.includes(bare)) return `: names have no ending, write "${bare}"`
  const file = path.posix.basename(name, '.hbs')
  const sameFile = names.filter(each => path.posix.basename(each) === file)
  return suggestNames(name, names) || quoteNearest(sameFile.slice(0, 3))
}

/**
 * Yields what a template lacks of a template that it replaces: partials that others fill (the content of a layout), and
 * inline partials for a layout that both use. Without them a page would be incomplete, or fail during its render.
 */
function* findLosses(
  uses: readonly Use[],
  replaced: readonly Use[],
  isFile: (name: string) => boolean,
): Generator<string> {
  const holes = new Set(partialNames(uses))
  for (const name of new Set(partialNames(replaced))) {
    if (!isFile(name) && !holes.has(name)) yield `which renders the partial "${name}": render it, too`
  }
  const layouts = new Set(namesOf('layout', uses))
  const layout = namesOf('layout', replaced).find(name => layouts.has(name))
  const defined = new Set(namesOf('inline', uses))
  for (const name of layout === undefined ? [] : namesOf('inline', replaced)) {
    if (!defined.has(name)) yield `which has the inline partial "${name}" for "${layout}": define it, too`
  }
}
