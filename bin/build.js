// Builds the package itself, in its repository. This file runs before any other file is compiled.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import path from 'node:path'

const root = path.join(import.meta.dirname, '..')
const compiler = path.join(root, 'node_modules/typescript/bin/tsc')

/**
 * Compiles the programs of the package if they are missing or stale. Resolves with false if there are none. Later
 * mistakes in sources are of no interest here: the programs compile once more, and report them.
 */
export async function prepare() {
  if (!existsSync(path.join(root, 'dist/bin/sources.js')) && !compileFirst()) return false
  await (await loadSources()).buildWhenStale({ isQuiet: true })
  return true
}

function compileFirst() {
  if (existsSync(compiler)) {
    console.error('Compiling for the first time …')
    return spawnSync(process.execPath, [compiler, '--build'], { stdio: ['ignore', 2, 2], cwd: root }).status === 0
  }
  console.error('There is neither a dist/ nor a compiler: run "npm ci", then "npm run build".')
  return false
}

async function loadSources() {
  const { createSources } = await import('../dist/bin/sources.js')
  return createSources(root)
}

if (process.argv[1] === import.meta.filename) {
  process.exitCode = (await prepare()) && (await (await loadSources()).build()) ? 0 : 2
}
