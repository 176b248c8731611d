import { writeFileSync } from 'node:fs'
import path from 'node:path'
import MiniSearch from 'minisearch'
import { settings } from './assets/search-settings.js'

/** Characters of a section that a result of the search shows. */
const excerptLength = 140

/** Writes the index of all sections of the pages. The browser loads it with the first search. */
export function writeSearchIndex(results, folder) {
  const index = new MiniSearch(settings)
  for (const { content, outputPath } of results) index.addAll(listSections(content, path.relative(folder, outputPath)))
  writeFileSync(path.join(folder, 'assets/search-index.json'), JSON.stringify(index))
}

/** The sections of a page: a heading, and the text up to the next one. */
function listSections(html, place) {
  const [, main = ''] = /<main[^>]*>([\s\S]*)<\/main>/.exec(html) ?? []
  const parts = main.split(/<div class="heading">\s*<h[1-6] id="([^"]*)"[^>]*>(.*?)<\/h[1-6]>.*?<\/div>/s).slice(1)
  const page = toText(parts[1] ?? '')
  const sections = []
  for (let at = 0; at + 2 < parts.length; at += 3) {
    const [id, title, text] = [parts[at], toText(parts[at + 1]), toText(parts[at + 2])]
    const address = at === 0 ? place : `${place}#${id}`
    sections.push({ address, title, page, text, excerpt: toExcerpt(text) })
  }
  return sections
}

function toText(html) {
  const text = html.replace(/<[^>]+>/g, ' ').replace(/\s+/g, ' ')
  const characters = { '&lt;': '<', '&gt;': '>', '&quot;': '"', '&#x27;': "'", '&amp;': '&' }
  return text.replace(/&(?:lt|gt|quot|#x27|amp);/g, entity => characters[entity]).trim()
}

function toExcerpt(text) {
  return text.length <= excerptLength ? text : `${text.slice(0, excerptLength).replace(/\S*$/, '')}…`
}
