// Builds the package itself, in its repository. This file runs before any other file is compiled.
import { spawnSync } from 'node:child_process'
import { existsSync, realpathSync } from 'node:fs'
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

/** Compiles the package. Resolves with false after a mistake in a source. */
export async function build() {
  return (await prepare()) && (await loadSources()).build()
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

// `npm run build` runs this file itself.
if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === import.meta.filename) {
  process.exitCode = (await build()) ? 0 : 1
}
