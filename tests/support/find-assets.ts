import { parseTags, unescapeHtml } from './html.ts'

/** Asks the site for the text of a path. */
export type Ask = (path: string) => Promise<string>

/** Finds all files that pages load: stylesheets, icons, scripts, and what scripts import. By their paths. */
export async function findAssets(pages: Iterable<string>, ask: Ask): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  const waiting = [...pages].flatMap(linksOf)
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (found.has(path)) continue
    const text = await ask(path)
    found.set(path, text)
    if (path.endsWith('.js')) waiting.push(...importsOf(text, path))
  }
  return found
}

function linksOf(html: string): string[] {
  return parseTags(html).flatMap(({ attributes, name }) => {
    const wanted = { link: 'href', script: 'src', img: 'src' }[name]
    // Another form of the page is not loaded with it.
    if (attributes.some(([key, value]) => key === 'rel' && value === 'alternate')) return []
    return attributes.flatMap(([key, value]) => (key === wanted ? [unescapeHtml(value)] : []))
  })
}

function importsOf(script: string, path: string): string[] {
  const specifiers = script.matchAll(/\b(?:from|import)\s*\(?\s*['"](\.[^'"]+)['"]/g)
  return [...specifiers].map(([, specifier]) => new URL(String(specifier), `http://site${path}`).pathname)
}
