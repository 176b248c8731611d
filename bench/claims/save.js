import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { runsTypeScript } from '../../dist/bin/application/sources.js'
import { createApplication } from '../../dist/bin/package/new-application.js'
import { readCpu } from '../read-cpu.js'
import { within } from '../report.js'

const root = path.join(import.meta.dirname, '../..')

/** Milliseconds: Node 20 runs what a compiler writes, later versions run the source. */
const budget = runsTypeScript ? 500 : 1_000

/** Between two saves: until the types are checked, and the previous process has ended. */
const rest = 3_000

/**
 * How long it takes from a save in a new application until a client gets an answer of the new
 * code. Each round is a save. The Node that runs this program runs the application.
 *
 * @type {import('../report.js').Claim}
 */
export const save = {
  title: `From a save to the first answer of the new code, Node ${process.versions.node}`,
  unit: 'ms',
  comparisons: [within(`save / ${budget} ms`, 'save', budget)],
  measure: async ({ rounds }) => {
    const folder = mkdtempSync(path.join(tmpdir(), 'sinfonietta-save-'))
    const directory = createNew(folder)
    const child = spawn(process.execPath, ['bin/serve', '--port=0'], {
      cwd: directory,
      env: { PATH: process.env.PATH },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const ended = once(child, 'exit')
    try {
      const url = await findUrl(child)
      /** @type {number[]} */
      const times = []
      /** @type {number[]} */
      const cpu = []
      for (let round = 0; round <= rounds; round++) {
        await delay(rest)
        const before = readCpu(child.pid)
        const begin = performance.now()
        writeVersion(directory, round)
        while ((await readVersion(url)) !== String(round)) await delay(5)
        times.push(performance.now() - begin)
        cpu.push(readCpu(child.pid) - before)
      }
      // The first save fills caches.
      const measured = new Map([
        ['save', times.slice(1)],
        ['save, CPU', cpu.slice(1)],
      ])
      return measured.set('save, fastest', [Math.min(...times)])
    } finally {
      child.kill()
      await ended
      rmSync(folder, { recursive: true })
    }
  },
}

const source = 'bundles/home/home-bundle.ts'

/**
 * Creates an application. Its packages are those of this repository.
 *
 * @param {string} folder
 */
function createNew(folder) {
  const directory = path.join(folder, 'site')
  createApplication(directory, root)
  const packages = path.join(directory, 'node_modules')
  mkdirSync(packages)
  symlinkSync(root, path.join(packages, 'sinfonietta'), 'junction')
  for (const name of ['typescript', '@types']) {
    symlinkSync(path.join(root, 'node_modules', name), path.join(packages, name), 'junction')
  }
  return directory
}

/**
 * Replaces the source of the home page, as many editors do.
 *
 * @param {string} directory
 * @param {number} version
 */
function writeVersion(directory, version) {
  const file = path.join(directory, source)
  const text = readFileSync(file, 'utf8')
  const header = `{ headers: { 'x-version': '${version}' } }`
  writeFileSync(`${file}~`, text.replace(/request\)(?:, .*)?\)$/m, `request), ${header})`))
  renameSync(`${file}~`, file)
}

/**
 * The version that answers.
 *
 * @param {string} url
 */
async function readVersion(url) {
  try {
    const response = await fetch(url)
    await response.arrayBuffer()
    return response.headers.get('x-version')
  } catch {
    // The connection was closed just when it was used again.
    return undefined
  }
}

/**
 * Waits until an application serves.
 *
 * @param {import('node:child_process').ChildProcessByStdio<null, import('node:stream').Readable, import('node:stream').Readable>} child
 */
async function findUrl({ stderr, stdout }) {
  stderr.pipe(process.stderr)
  for await (const chunk of stdout.iterator({ destroyOnReturn: false })) {
    const url = /serves (\S+)/.exec(String(chunk))?.[1]
    if (url !== undefined) {
      stdout.resume()
      return url
    }
  }
  throw new Error('The application does not start.')
}
