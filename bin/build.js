// Builds the package itself, in its repository. This file runs before any other file is compiled.
import { spawnSync } from 'node:child_process'
import { existsSync, realpathSync, utimesSync, writeFileSync } from 'node:fs'
import path from 'node:path'

const root = path.join(import.meta.dirname, '..')
const compiler = path.join(root, 'node_modules/typescript/bin/tsc')

/** Writes the output without a check of the types, in half of the time: the development server makes it later. */
const emit = [
  ['--project', 'bundles/profiler/client', '--noCheck'],
  ['--project', '.', '--noCheck'],
]

/** Compiles the programs of the package if there are none. Those of an old build begin with a build. */
export function prepare({ isChecked = true } = {}) {
  if (existsSync(path.join(root, 'dist/bin/application/sources.js'))) return true
  if (existsSync(compiler)) {
    console.error('Compiling all sources …')
    const begin = Date.now() / 1000
    const isCompiled = (isChecked ? [['--build']] : emit).every(options => {
      const { status } = spawnSync(process.execPath, [compiler, ...options], { stdio: ['ignore', 2, 2], cwd: root })
      return status === 0
    })
    // The marks of a whole build: see `sources.ts`.
    for (const name of isCompiled ? ['.compiled', isChecked ? '.built' : '.emitted'] : []) {
      const file = path.join(root, 'dist', name)
      writeFileSync(file, '')
      utimesSync(file, begin, begin)
    }
    return isCompiled
  }
  console.error('There is neither a dist/ nor a compiler: run "npm ci", then "npm run build".')
  return false
}

// `npm run build` runs this file itself.
if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === import.meta.filename) {
  const isBuilt = prepare() && (await (await import('../dist/bin/application/sources.js')).createSources(root).build())
  process.exitCode = isBuilt ? 0 : 1
}
