import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { writeForAgents } from './agents.js'
import { setUpMarkdown, toTitle } from './markdown.js'
import { readNavigation } from './navigation.js'
import { writeSearchIndex } from './search-index.js'

/** What the website consists of. */
const documents = ['README.md', 'SECURITY.md', 'CHANGELOG.md', 'docs']

/** The page of a document has its path, so that relative links need another ending only. */
function toPath(document) {
  return document
    .replace(/^\.\//, '')
    .replace(/README\.md$/, 'index.md')
    .replace(/\.md$/, '.html')
}

export default function configure(config) {
  const others = readdirSync('.').filter(name => !documents.includes(name))
  for (const name of others) config.ignores.add(name.endsWith('.md') ? name : `${name}/**`)
  config.ignores.add('docs/website/**')
  config.setTemplateFormats(['md'])
  config.setIncludesDirectory('docs/website')
  config.setOutputDirectory('var/docs')

  config.addPassthroughCopy('docs/images')
  config.addPassthroughCopy('docs/examples')
  config.addPassthroughCopy('docs/reference/*.json')
  config.addPassthroughCopy({ LICENSE: 'LICENSE.txt' })
  config.addPassthroughCopy({ 'docs/website/assets': 'assets' })
  config.addPassthroughCopy({ 'docs/website/node_modules/minisearch/dist/es/index.js': 'assets/minisearch.js' })
  config.addWatchTarget('docs/website/*.{js,njk}')

  config.addGlobalData('layout', 'layout.njk')
  config.addGlobalData(
    'permalink',
    () =>
      ({ page }) =>
        toPath(page.inputPath),
  )
  config.addGlobalData('eleventyComputed', {
    place: ({ page }) => toPath(page.inputPath),
    title: ({ page }) => toTitle(page.rawInput),
  })
  config.addGlobalData('version', () => JSON.parse(readFileSync('package.json', 'utf8')).version)
  config.addGlobalData('navigation', () => readNavigation('docs/README.md', toPath))

  // Relative addresses make the website independent of its place: a folder of a host, or of a disk.
  config.addFilter('from', (target, place) => path.posix.relative(path.posix.dirname(place), target))
  config.addFilter('neighbours', (navigation, place) => {
    const pages = navigation.flatMap(({ pages }) => pages)
    const index = pages.findIndex(({ target }) => target === place)
    return index === -1 ? {} : { previous: pages[index - 1], next: pages[index + 1] }
  })
  config.addFilter('headings', content =>
    Array.from(content.matchAll(/<h2 id="([^"]+)"[^>]*>(.*?)<\/h2>/g), ([, id, title]) => ({ id, title })),
  )

  config.amendLibrary('md', setUpMarkdown)
  config.on('eleventy.after', ({ directories, results }) => {
    writeSearchIndex(results, directories.output)
    writeForAgents(
      readNavigation('docs/README.md', document => document.replace(/^\.\//, '')),
      results,
      directories.output,
    )
  })

  // Documents are about templates: their braces are text.
  return { markdownTemplateEngine: false, dir: { input: '.' } }
}
