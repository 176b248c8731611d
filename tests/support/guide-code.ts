/**
 * Reads the code of a guide by the files that it makes up: a block whose first line is `// path` begins a file, and those
 * after it go on with it. Blocks in other languages have no name.
 */
export function readGuideCode(guide: string): ReadonlyMap<string, string> {
  const files = new Map<string, string>()
  let current = ''
  for (const [, language, block = ''] of guide.matchAll(/^```(.*)\n([\s\S]*?)^```$/gm)) {
    const [, path, beginning] = /^\/\/ (\S+)\n([\s\S]*)$/.exec(block) ?? []
    if (language !== 'ts') current = ''
    else if (path !== undefined) current = path
    const before = files.get(current)
    files.set(current, before === undefined ? (beginning ?? block) : `${before}\n${block}`)
  }
  return files
}
