import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { within } from '../report.js'

const root = path.join(import.meta.dirname, '../..')

/** What the package has, as far as it is loaded. */
const packed = ['package.json', 'bin/package', 'dist/bin', 'dist/bundles', 'dist/kernel', 'dist/lib']

/**
 * What `sinfonietta/profile` adds to the start of an empty module, as it is packed. The least of
 * the rounds says most on a busy machine.
 *
 * @type {import('../report.js').Claim}
 */
export const profileLoad = {
  title: 'Loading sinfonietta/profile before an empty module, above the empty module',
  unit: 'ms',
  comparisons: [within('wall / 120 ms', 'wall', 120), within('wall, fastest / 120 ms', 'wall, fastest', 120)],
  measure: async ({ rounds }) => {
    const directory = pack()
    /** @type {Map<string, number[]>} */
    const measured = new Map()
    try {
      const plain = []
      const profiled = []
      for (let round = 0; round < rounds + 5; round++) {
        plain.push(load(directory, []))
        profiled.push(load(directory, ['--import', 'sinfonietta/profile']))
      }
      for (const kind of /** @type {const} */ (['wall', 'cpu'])) {
        const added = profiled.map((each, round) => each[kind] - Number(plain[round]?.[kind]))
        const least = (/** @type {typeof plain} */ all) => Math.min(...all.map(each => each[kind]))
        measured.set(kind, added).set(`${kind}, fastest`, [least(profiled) - least(plain)])
      }
    } finally {
      rmSync(directory, { recursive: true })
    }
    return measured
  },
}

/** Prepares a copy of the package as `npm pack` does, in a folder of an application. */
function pack() {
  const directory = mkdtempSync(path.join(tmpdir(), 'profile-load-'))
  const modules = path.join(directory, 'node_modules')
  const own = path.join(modules, 'sinfonietta')
  mkdirSync(own, { recursive: true })
  for (const name of packed) cpSync(path.join(root, name), path.join(own, name), { recursive: true })
  symlinkSync(path.join(root, 'node_modules'), path.join(own, 'node_modules'))
  const { status, stderr } = spawnSync(process.execPath, [path.join(own, 'bin/package/prepack.js')])
  if (status !== 0) throw new Error(String(stderr))
  writeFileSync(path.join(directory, 'package.json'), '{}')
  writeFileSync(path.join(directory, 'empty.mjs'), '')
  return directory
}

const report = `data:text/javascript,${encodeURIComponent(`
  const { user, system } = process.cpuUsage()
  console.log(JSON.stringify({ wall: performance.now(), cpu: (user + system) / 1000 }))
  process.exit()
`)}`

/**
 * Milliseconds from the start of Node to the application.
 *
 * @param {string} directory
 * @param {readonly string[]} options
 * @returns {{ wall: number, cpu: number }}
 */
function load(directory, options) {
  const { stdout } = spawnSync(process.execPath, [...options, '--import', report, 'empty.mjs'], {
    cwd: directory,
    encoding: 'utf8',
    env: { PATH: process.env.PATH, PROFILER_PORT: '0', PROFILER_ALONE: '1' },
  })
  return JSON.parse(stdout)
}
