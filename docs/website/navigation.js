import { readFileSync } from 'node:fs'
import path from 'node:path'

/**
 * Reads the navigation from the contents page: its sections, each with the links in the first column of its
 * tables, and what the second one says of them. `toPath` makes the path of a page from that of its document.
 */
export function readNavigation(file, toPath) {
  const sections = readFileSync(file, 'utf8').split(/^##+ /m).slice(1)
  const parts = sections.map(section => {
    const rows = section.matchAll(/^\| \[([^\]]+)\]\(([^)]+)\) \| (.*) \|$/gm)
    const pages = Array.from(rows, ([, title, link, content]) => {
      const document = path.posix.join(path.posix.dirname(file), link)
      return { title, content, target: toPath(document.endsWith('/') ? `${document}README.md` : document) }
    })
    return { title: section.split('\n', 1)[0], pages }
  })
  // An installed package has no decisions, so its contents have no link to them.
  const decisions = {
    title: 'Reasons',
    pages: [{ title: 'Decisions', content: 'of the code', target: toPath('docs/decisions/README.md') }],
  }
  return [...parts.filter(({ pages }) => pages.length > 0), decisions]
}
