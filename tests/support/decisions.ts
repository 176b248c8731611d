import { readdirSync, readFileSync } from 'node:fs'

/** A section of a page in `docs/decisions`. */
export interface Decision {
  readonly number: string
  /** The anchor of its heading, such as `014-refused-expectations-close`. */
  readonly anchor: string
  readonly lines: readonly string[]
}

/** Reads the decisions of all pages. */
export function readDecisions(): Decision[] {
  const pages = readdirSync('docs/decisions').filter(name => name !== 'README.md')
  return pages.flatMap(page => {
    const [, ...sections] = readFileSync(`docs/decisions/${page}`, 'utf8').split(/^## /m)
    return sections.map(section => {
      const [heading = '', ...lines] = section.split('\n')
      const anchor = heading.toLowerCase().replaceAll(' ', '-')
      return { number: anchor.slice(0, 3), anchor, lines: lines.filter(line => line !== '') }
    })
  })
}
