import { copyFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'

/** Copies the documents as they are, and lists them in `llms.txt` (llmstxt.org): agents read Markdown. */
export function writeForAgents(navigation, results, folder) {
  for (const { inputPath } of results) copyFileSync(inputPath, path.join(folder, inputPath))
  const sections = navigation.map(({ pages, title }) => {
    const lines = pages.map(({ content, target, title }) => `- [${title}](${target}): ${toPlain(content)}\n`)
    return `\n## ${title}\n\n${lines.join('')}`
  })
  const summary = 'An HTTP kernel for Node.js in the style of Symfony, with a profiler that records every request.'
  writeFileSync(path.join(folder, 'llms.txt'), `# Sinfonietta\n\n> ${summary}\n${sections.join('')}`)
}

/** Links of the contents lead from its own folder. */
function toPlain(text) {
  return text.replace(/\[([^\]]+)\]\([^)]+\)/g, '$1')
}
