import { spawn } from 'node:child_process'
import { existsSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import path from 'node:path'

const root = path.join(import.meta.dirname, '..')
const client = path.join(root, 'bundles/profiler/client')
const compiler = path.join(root, 'node_modules/typescript/bin/tsc')

/**
 * Compiles what is stale into dist/; false when that cannot be used. Without a compiler, the dist/ that is there will do.
 * A glance at the times of the files is enough, unless they change at this moment: what is saved while the compiler is
 * at work looks older than its output. A thorough build compares contents, which takes half a second more.
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

/** Whether there is a build, however old. */
export function isBuilt() {
  return existsSync(path.join(root, 'dist/bin/serve.js'))
}

/** The compiler itself prints what it has to say; on stderr, as the results of commands are on stdout. */
function compile(options) {
  // A debugger is for the site: the compiler must not take its port.
  const env = { ...process.env, NODE_OPTIONS: process.env.NODE_OPTIONS?.replace(/--inspect\S*/g, '') ?? '' }
  const child = spawn(process.execPath, [compiler, ...options], { stdio: ['ignore', 2, 2], cwd: root, env })
  return new Promise(resolve => child.on('close', code => resolve(code === 0)))
}

const folders = ['bin', 'bundles', 'kernel', 'lib'].map(name => path.join(root, name))
const stamp = path.join(root, 'dist/.built')

/**
 * As `build`, but the compiler is only started when a source is newer than the last time that all of them were compiled.
 * Looking at the files takes a tenth of the time.
 */
export async function buildWhenStale() {
  return (existsSync(compiler) && !isStale(timeOf(stamp))) || build()
}

function isStale(time) {
  return timeOf(path.join(root, 'tsconfig.json')) >= time || folders.some(folder => hasNewer(folder, time))
}

/** Does not look at what a directory entry says already: there are hundreds of them. */
function hasNewer(folder, time) {
  return readdirSync(folder, { withFileTypes: true }).some(entry => {
    const file = `${folder}/${entry.name}`
    if (entry.isDirectory()) return hasNewer(file, time)
    return /(?:\.ts|tsconfig\.json)$/.test(entry.name) && timeOf(file) >= time
  })
}

/** What is saved while the compiler is at work has its turn next time. */
function writeStamp(begin) {
  try {
    writeFileSync(stamp, '')
    utimesSync(stamp, begin / 1000, begin / 1000)
  } catch {
    // Next time it takes a little longer.
  }
}

/** 0 of what is not there. */
function timeOf(file) {
  return statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0
}
