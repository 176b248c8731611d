import { readFileSync } from 'node:fs'
import path from 'node:path'
import { isAtLeast } from '../../lib/optional-packages.ts'
import type { FileChanges } from './publish.ts'

/** The first versions of libraries that report their queries by diagnostics channels, and a file that each version loads. */
const channelLibraries: Readonly<Record<string, { readonly first: string; readonly file: string }>> = {
  mysql2: { first: '3.20', file: 'lib/connection.js' },
  ioredis: { first: '5.11', file: 'built/index.js' },
  '@redis/client': { first: '5.12', file: 'dist/index.js' },
  // Before version 4, which has the package above.
  redis: { first: '5.12', file: 'index.js' },
}

/** Whether the version of a library in a folder reports its queries by a diagnostics channel. */
export function hasChannel(name: string, folder: string): boolean {
  const known = channelLibraries[name]
  return known !== undefined && isAtLeast(readVersion(folder), known.first)
}

function readVersion(folder: string): string {
  return JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')).version
}

/** Passes a sentence for each library whose version is too old to be seen, once, when the application loads it. */
export function findOldLibraries(report: (sentence: string) => void): FileChanges {
  const changes: Record<string, FileChanges[string]> = {}
  for (const [name, { file, first }] of Object.entries(channelLibraries)) {
    changes[`node_modules/${name}/${file}`] = (_, loaded) => {
      const folder = loaded.slice(0, -file.length)
      if (!hasChannel(name, folder))
        report(`${name} ${readVersion(folder)} does not report its queries; ${first} does.`)
    }
  }
  return changes
}
