import type { EntryPoint, ReportedDeclaration } from './public-api.ts'

/** The declarations of the last released version. It is written by `npm run references -- --release`. */
export const reportFile = 'tests/fixtures/api-report.txt'

/**
 * Writes the reference of the public API: its introduction stays, each entry point has a table of
 * its names, or a reference of its own.
 */
export function writeReference(before: string, entries: readonly EntryPoint[]): string {
  const [introduction = ''] = before.split(/^## /m)
  const sections = entries.map(({ name, names, purpose }) => {
    if (name.endsWith('/testing')) return `## ${name}\n\n${purpose} Its names are in [The testing kit](testing.md).\n`
    const rows = names.map(({ declaration, name }) => `| \`${name}\` | ${declaration.meaning.replaceAll('|', '\\|')} |`)
    return `## ${name}\n\n${purpose}\n\n| Name | Meaning |\n| --- | --- |\n${rows.join('\n')}\n`
  })
  return [introduction, ...sections]
    .join('')
    .replaceAll(/\n(?=## )/g, '\n\n')
    .replaceAll(/\n{3,}/g, '\n\n')
}

/** Writes the report of a version. */
export function writeReport(version: string, declarations: readonly ReportedDeclaration[]): string {
  const blocks = declarations.map(({ text, title }) => `## ${title}\n${text}\n`)
  return [`The public declarations of version ${version}, by "npm run references -- --release".\n`, ...blocks].join(
    '\n',
  )
}

function parseReport(report: string): { readonly version: string; readonly texts: ReadonlyMap<string, string> } {
  const [head = '', ...blocks] = report.split(/^## /m)
  const version = String(/version (\S+),/.exec(head)?.[1])
  const texts = blocks.map(block => {
    const end = block.indexOf('\n')
    return [block.slice(0, end), block.slice(end).trim()] as const
  })
  return { version, texts: new Map(texts) }
}

/**
 * The differences between a report and the declarations of today that the changelog does not name, as
 * ``changed `Bundle` (sinfonietta)``. A difference is named if one of its names is in backticks in the part of the
 * changelog that is newer than the version of the report.
 */
export function findUnnamedChanges(
  report: string,
  declarations: readonly ReportedDeclaration[],
  changelog: string,
): string[] {
  const { texts, version } = parseReport(report)
  const [, newest = ''] = changelog.split(/^## /m)
  const part = String(newest.split('\n', 1)[0]).includes(version) ? '' : newest
  const spans = Array.from(part.matchAll(/`[^`]+`/g), ([span]) => span)
  const isNamed = (name: string) =>
    spans.some(span => span.split(/[^\w.$]+/).includes(name) || span.split(/[^\w$]+/).includes(name))

  const today = new Map(declarations.map(declaration => [declaration.title, declaration]))
  // A declaration without an exported name appears and disappears with a change of the names that reach it.
  const isOwn = (title: string) => !title.startsWith('reached: ')
  const removed = [...texts.keys()].filter(title => !today.has(title) && isOwn(title))
  const differences = [
    ...removed.map(title => ({ title, verb: 'removed', names: [String(/`(.+)`/.exec(title)?.[1])] })),
    ...declarations.flatMap(({ names, text, title }) => {
      const before = texts.get(title)
      if (before === undefined) return isOwn(title) ? [{ title, verb: 'added', names }] : []
      return before === text.trim() ? [] : [{ title, verb: 'changed', names }]
    }),
  ]
  return differences
    .filter(({ names }) => !names.some(isNamed))
    .map(
      ({ names, title, verb }) => `${verb} ${title}${names.length > 1 ? ` (by ${names.slice(0, 4).join(', ')})` : ''}`,
    )
}
