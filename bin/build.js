import { spawn } from 'node:child_process'
import { existsSync, readdirSync, realpathSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import path from 'node:path'

const root = path.join(import.meta.dirname, '..')
const client = path.join(root, 'bundles/profiler/client')
const compiler = path.join(root, 'node_modules/typescript/bin/tsc')
/** The compiler writes this file last. */
const buildInfo = path.join(root, 'dist/.tsbuildinfo')

/**
 * Compiles stale sources into dist/. Resolves with false if dist/ cannot be used. Without a compiler an existing dist/
 * is enough. By default the compiler compares the times of the files. That is not enough for a file that is saved while
 * the compiler is at work: it looks older than its output. A thorough build compares contents, which takes half a
 * second more.
 */
export async function build({ isThorough = false } = {}) {
  const begin = Date.now()
  if (existsSync(compiler)) {
    if (!isBuilt()) console.error('Compiling for the first time …')
    const hasCompiled = isThorough
      ? (await compile(['--project', client])) && (await compile(['--project', '.']))
      : await compile(['--build'])
    if (hasCompiled) writeStamp(begin)
    return hasCompiled
  }
  if (isBuilt()) return true
  console.error('There is neither a dist/ nor a compiler: run "npm ci", then "npm run build".')
  return false
}

/** Whether there is a whole build, however old. Only a compiler can leave a build that is not whole. */
export function isBuilt() {
  return existsSync(path.join(root, 'dist/bin/serve.js')) && (existsSync(buildInfo) || !existsSync(compiler))
}

/** Whether a compiler has written dist/ since a time in milliseconds. */
export function isBuiltSince(time) {
  return timeOf(buildInfo) >= time
}

/** The compiler prints its messages itself; on stderr, because stdout is for the results of commands. */
function compile(options) {
  // A debugger is for the main process: the compiler must not take its port.
  const env = { ...process.env, NODE_OPTIONS: process.env.NODE_OPTIONS?.replace(/--inspect\S*/g, '') ?? '' }
  const child = spawn(process.execPath, [compiler, ...options], { stdio: ['ignore', 2, 2], cwd: root, env })
  return new Promise(resolve => child.on('close', code => resolve(code === 0)))
}

const folders = ['bin', 'bundles', 'kernel', 'lib'].map(name => path.join(root, name))
const stamp = path.join(root, 'dist/.built')

/**
 * Like `build`, but starts the compiler only if a source is newer than the beginning of the last successful build. To
 * look at the files takes a tenth of the time.
 */
export async function buildWhenStale() {
  return (existsSync(compiler) && !isStale(timeOf(stamp))) || build()
}

function isStale(time) {
  return timeOf(path.join(root, 'tsconfig.json')) >= time || folders.some(folder => hasNewer(folder, time))
}

/** Directory entries say whether they are folders: for hundreds of files this saves a call each. */
function hasNewer(folder, time) {
  return readdirSync(folder, { withFileTypes: true }).some(entry => {
    const file = `${folder}/${entry.name}`
    if (entry.isDirectory()) return hasNewer(file, time)
    return /(?:\.ts|tsconfig\.json)$/.test(entry.name) && timeOf(file) >= time
  })
}

/** With the time of the beginning, a source that is saved during the build is compiled next time. */
function writeStamp(begin) {
  try {
    writeFileSync(stamp, '')
    utimesSync(stamp, begin / 1000, begin / 1000)
  } catch {
    // Without the stamp the next build takes a little longer.
  }
}

/** Milliseconds; 0 for a file that does not exist. */
function timeOf(file) {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0
}

// `npm run build` runs this file itself.
if (process.argv[1] !== undefined && realpathSync(process.argv[1]) === import.meta.filename) {
  process.exitCode = (await build()) ? 0 : 1
}
