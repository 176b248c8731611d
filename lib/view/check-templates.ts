import { showPath } from '../stack/stack-frames.ts'
import { nearestNames, quoteNearest, suggestNames } from '../text/mistakes.ts'
import { VIEW_TEMPLATE_INVALID } from './errors.ts'
import { addFrames, type TemplatePlace } from './failed-place.ts'
import { dataNames } from './globals.ts'
import { readTemplate, type TemplateFile, type UnusedTemplate } from './template-files.ts'
import { createReader, namesOf, type Parse, partialNames, type Use, type WrittenCall } from './template-uses.ts'

/** The name by which a template inserts the block of its call. */
const block = '@partial-block'

/** What a check needs of the template engine. */
export interface TemplateEngine {
  readonly parse: Parse
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
  { checks, globals, helpers, parse }: TemplateEngine,
  directory: string,
  listUnused: () => readonly UnusedTemplate[],
): ReadonlyMap<string, readonly string[]> {
  const mistakes: Mistake[] = []
  const show = (file: string) => showPath(file, directory)
  const read = createReader(parse)
  const parsed = files.flatMap(({ file, name, replaces }) => {
    try {
      const source = sources.get(name) ?? ''
      const foreign = findForeignTag(source)
      if (foreign !== undefined)
        mistakes.push({ name, file, ...foreign, text: `${show(file)}: line ${foreign.line}: ${foreign.text}` })
      const uses = read(source)
      return { file, name, uses, replaces, replaced: replaces === undefined ? [] : read(readTemplate(replaces)) }
    } catch (error) {
      // Handlebars throws errors.
      const { message } = error as Error
      mistakes.push({ name, file, text: `${show(file)}: ${explain(message)}`, ...readPlace(message) })
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
    return unused.some(each => definesInline(each, name, read)) ? undefined : ''
  }
  const names = { templates, called, dropping, helpers, checks, globals, explainMissing }
  for (const { file, name, replaced, replaces, uses } of parsed) {
    for (const { column, line, text } of findMistakes(uses, names)) {
      mistakes.push({ name, file, text: `${show(file)}: line ${line}: ${text}`, line, column })
    }
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

/** A tag of Twig, Jinja or EJS, which a page would show as text. A page about them has it in an element for code. */
function findForeignTag(source: string) {
  const page = source.replace(shownCode, text => text.replace(/[^\n]/g, ' '))
  const found = /\{%-?\s*(?:for|if|block|extends|include|set|macro|import)\b[^\n]*?%\}|<%[-=_]?\s[^\n]*?%>/.exec(page)
  if (found === null) return undefined
  const lines = page.slice(0, found.index).split('\n')
  const right = 'write {{#each items}} … {{/each}}, {{#if item}} … {{/if}}, {{> partial}} (text is in <code>)'
  const text = `${found[0]} is of another language, templates are Handlebars: ${right}`
  return { line: lines.length, column: (lines.at(-1) ?? '').length + 1, text }
}

const layout =
  ': a layout is a partial with a block, {{#> layout}} … {{/layout}}, and inserts it by {{> @partial-block}}'

/** How templates of other frameworks name a layout and its parts. */
const layoutHint: ReadonlyMap<string, string> = new Map(
  ['extends', 'extend', 'layout', 'block', 'content', 'yield', 'section', 'slot'].map(name => [name, layout]),
)

/** Words of other languages for blocks. */
const blockHint: ReadonlyMap<string, string> = new Map([
  ...['elseif', 'elsif', 'elif'].map(name => [name, ': write {{else if value}}'] as const),
  ...['for', 'foreach', 'map'].map(name => [name, ': write {{#each items}} … {{/each}}'] as const),
])

const shownCode =
  /<(code|pre|script|style|textarea)\b[\s\S]*?<\/\1>|\{\{!--[\s\S]*?--\}\}|\{\{![\s\S]*?\}\}|<!--[\s\S]*?-->/gi

interface Mistake extends TemplatePlace {
  /** The message, with the file and the line. */
  readonly text: string
}

/** The place that a syntax error of Handlebars names: `Parse error on line 3`, or `x doesn't match y - 3:5`. */
function readPlace(message: string): Pick<TemplatePlace, 'line' | 'column'> {
  const found = /(?: on line |- )(\d+)(?::(\d+))?/.exec(message)
  return { line: Number(found?.[1] ?? 1), column: Number(found?.[2] ?? 0) + 1 }
}

/** At the end of a file, an error of the grammar mostly means that a block has no end. */
function explain(message: string): string {
  if (message.endsWith("got 'EOF'")) return `${message}\nA block such as {{#if …}} has no end.`
  const hasOperator = /got '(?:EQUALS|INVALID|CLOSE_BLOCK_PARAMS)'$/.test(message)
  return hasOperator
    ? `${message}\nTemplates have no operators and filters: write a helper, or compute the value in the controller.`
    : message
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
function* findMistakes(uses: readonly Use[], known: KnownNames): Generator<Pick<Mistake, 'text' | 'line' | 'column'>> {
  for (const use of uses) {
    const text = mistakeOf(use, known)
    if (text !== undefined) yield { text, line: use.line, column: use.column }
  }
}

function mistakeOf(
  { call, hasContent, kind, name }: Use,
  { called, checks, dropping, explainMissing, globals, helpers, templates }: KnownNames,
): string | undefined {
  switch (kind) {
    case 'computed':
      return 'a partial must be named, not computed'
    case 'partial':
    case 'layout': {
      if (hasContent && dropping.has(name))
        return `"${name}" does not show the block: insert it there with {{> ${block}}}`
      if (name === block || templates.has(name)) return undefined
      const end = explainMissing(name)
      return end === undefined ? undefined : `there is no partial "${name}"${end || suggestNames(name, templates)}`
    }
    case 'inline': {
      // A similar name of a few letters is often another one.
      const nearest = called.has(name) ? [] : nearestNames(name, called, Math.max(1, name.length / 3))
      return nearest.length === 0 ? undefined : `no template calls the partial "${name}"${quoteNearest(nearest)}`
    }
    case 'unescaped':
      return 'output must be escaped: use two braces; HTML of your own comes from a helper, as an HtmlFragment'
    case 'global':
      if (dataNames.has(name) || globals.has(name)) return undefined
      return `there is no global "@${name}"${suggestNames(name, globals)}`
    case 'helper':
      if (!helpers.has(name))
        return `there is no helper "${name}"${layoutHint.get(name) ?? blockHint.get(name) ?? suggestNames(name, helpers)}`
      return findRefusal(checks.get(name), call)
    case 'section':
      return findRefusal(checks.get(name), call)
    case 'value': {
      const refusal = findRefusal(checks.get(name), call)
      return refusal && `${refusal}\nA value of the page that has the name of a helper is {{this.${name}}}.`
    }
    default:
      return undefined
  }
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
