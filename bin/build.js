// Builds the package itself, in its repository. This file runs before any other file is compiled.
import { spawnSync } from 'node:child_process'
import { existsSync, realpathSync, writeFileSync } from 'node:fs'
import path from 'node:path'

const root = path.join(import.meta.dirname, '..')
const compiler = path.join(root, 'node_modules/typescript/bin/tsc')

/** Compiles the programs of the package if there are none. Those of an old build begin with a build. */
export function prepare() {
  if (existsSync(path.join(root, 'dist/bin/application/sources.js'))) return true
  if (existsSync(compiler)) {
    console.error('Compiling all sources …')
    const { status } = spawnSync(process.execPath, [compiler, '--build'], { stdio: ['ignore', 2, 2], cwd: root })
    // The mark of a whole build: see `sources.ts`.
    if (status === 0) writeFileSync(path.join(root, 'dist/.compiled'), '')
    return status === 0
  }
  console.error('There is neither a dist/ nor a compiler: run "npm ci", then "npm run build".')
  return false
}

// `npm run build` runs this file itself.
if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === import.meta.filename) {
  const isBuilt = prepare() && (await (await import('../dist/bin/application/sources.js')).createSources(root).build())
  process.exitCode = isBuilt ? 0 : 1
}
