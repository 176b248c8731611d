import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { FileProfileStorage } from '../../dist/bundles/profiler/store/file-profile-storage.js'
import { nodeFileSystem } from '../../dist/bundles/profiler/store/file-system.js'
import { measureFunctions } from '../measure-functions.js'
import { within } from '../report.js'

/** @typedef {import('../report.js').Claim} Claim */
/** @typedef {import('../../dist/bundles/profiler/profile/profile.js').ProfileSummary} ProfileSummary */
/** @typedef {import('../../dist/bundles/profiler/store/profile-storage.js').ProfileQuery} ProfileQuery */

const counts = { '10,000': 10_000, '100,000': 100_000 }

/** @type {Readonly<Record<string, ProfileQuery>>} */
export const queries = {
  'first page': { limit: 10 },
  'a text that is nowhere': { limit: 10, filters: [{ field: 'url', test: 'contains', value: 'nothing like it' }] },
  'three conditions': {
    limit: 10,
    filters: [
      { field: 'method', test: 'contains', value: 'POST' },
      { field: 'status', test: 'from', value: 400 },
      { field: 'url', test: 'lacks', value: '_profiler' },
    ],
  },
  'sorted by duration': { limit: 10, sort: { field: 'duration', direction: 'descending' } },
  'sorted by URL': { limit: 10, sort: { field: 'url', direction: 'ascending' } },
}

/**
 * Searching among profiles that another process has left, whose indexes are in memory by then.
 *
 * @type {Claim}
 */
export const profileSearch = {
  title: 'Searching the profile store, with the look at what other processes have written',
  unit: 'CPU µs/search',
  comparisons: Object.keys(queries).map(name => ({
    name: `${name}: 100,000 / 10,000`,
    numerator: `${name}, 100,000`,
    denominator: `${name}, 10,000`,
  })),
  async measure({ rounds, requests }) {
    /** @type {Record<string, () => Promise<unknown>>} */
    const functions = {}
    const ends = []
    for (const [name, count] of Object.entries(counts)) {
      const { storage, end } = await createFilled(count)
      ends.push(end)
      for (const [query, parameters] of Object.entries(queries)) {
        functions[`${query}, ${name}`] = () => storage.search(parameters)
      }
    }
    const measured = await measureFunctions(functions, { rounds, calls: Math.ceil(requests / 1000) })
    for (const end of ends) await end()
    return new Map([...measured].map(([name, values]) => [name, values.map(value => value / 1000)]))
  },
}

/** A second. */
const rate = 5000

/**
 * Keeping profiles at a steady rate, threads of the pool included.
 *
 * @type {Claim}
 */
export const profileAppend = {
  title: 'Keeping 5,000 profiles of 4 kB a second',
  unit: 'CPU µs/profile',
  comparisons: [
    {
      name: 'keeping / JSON.stringify of the profile',
      numerator: 'keeping',
      denominator: 'JSON.stringify of the profile',
    },
    { name: 'append() alone / keeping', numerator: 'append() alone', denominator: 'keeping' },
    within('writes of a file for 50 profiles / 1', 'writes of a file for 50 profiles', 1),
  ],
  async measure({ rounds, requests }) {
    const profiles = Array.from({ length: 1000 }, (_, number) => createProfile(number))
    const texts = profiles.map(profile => JSON.stringify(profile))
    const { storage, end } = createStorage(10_000)
    let number = 0
    let appending = 0
    const kept = () => ({
      summary: { ...profiles[number % 1000]?.summary, token: tokenOf(number++) },
      text: texts[number % 1000],
    })
    const names = ['keeping', 'append() alone', 'JSON.stringify of the profile', 'writes of a file for 50 profiles']
    const measured = new Map(names.map(name => [name, /** @type {number[]} */ ([])]))
    const keep = () => {
      const record = /** @type {any} */ (kept())
      const before = performance.now()
      storage.append(record, facts)
      appending += performance.now() - before
    }
    await pace(requests, keep)
    await storage.flush()
    for (let round = 0; round < rounds; round++) {
      const idle = await measureCpu(() => pace(requests, kept))
      appending = 0
      writes = 0
      const busy = await measureCpu(async () => {
        await pace(requests, keep)
        await storage.flush()
      })
      measured.get('writes of a file for 50 profiles')?.push((writes * 50) / requests)
      const stringifying = await measureCpu(async () => {
        for (let turn = 0; turn < requests; turn++) JSON.stringify(profiles[turn % 1000])
      })
      measured.get('keeping')?.push((busy - idle) / requests)
      measured.get('append() alone')?.push((appending * 1000) / requests)
      measured.get('JSON.stringify of the profile')?.push(stringifying / requests)
    }
    const { dropped } = await storage.usage()
    if (dropped > 0) console.log(`${dropped} profiles were dropped.`)
    await end()
    return measured
  },
}

/**
 * What a profile takes up, apart from itself.
 *
 * @type {Claim}
 */
export const profileBytes = {
  title: 'What the profile store writes for a profile',
  unit: 'bytes/profile',
  comparisons: [{ name: 'all / the profile itself', numerator: 'all', denominator: 'the profile itself' }],
  async measure({ rounds, requests }) {
    const count = Math.min(requests, 9000)
    const { directory, end } = await createFilled(count)
    const sizes = readdirSync(directory).map(file => ({ file, size: statSync(path.join(directory, file)).size }))
    const sum = (/** @type {string} */ ending) =>
      sizes.filter(({ file }) => file.endsWith(ending)).reduce((total, { size }) => total + size, 0) / count
    await end()
    const one = Buffer.byteLength(JSON.stringify(createProfile(1)))
    const values = {
      all: sum(''),
      'in its segment': sum('.jsonl'),
      'in the index': sum('.index'),
      'the profile itself': one,
    }
    return new Map(Object.entries(values).map(([name, value]) => [name, Array(rounds).fill(value)]))
  },
}

export const facts = JSON.stringify({
  environment: { node: process.version, variables: Array(100).fill('NAME=value') },
})

let writes = 0

/** The disk, with a count of what is written to files. @type {typeof nodeFileSystem} */
const fileSystem = {
  ...nodeFileSystem,
  async open(...values) {
    const file = /** @type {any} */ (await nodeFileSystem.open(...values))
    const { write } = file
    file.write = (/** @type {unknown[]} */ ...parts) => {
      writes++
      return write.apply(file, parts)
    }
    return file
  },
}

/** @param {number} count */
function createStorage(count, directory = mkdtempSync(path.join(tmpdir(), 'profiles-'))) {
  const onProblem = (/** @type {string} */ message, /** @type {unknown} */ error) => console.log(message, error)
  const storage = new FileProfileStorage({ directory, onProblem, fileSystem, limits: { count, bytes: 2e9 } })
  const end = async () => {
    await storage.close()
    rmSync(directory, { recursive: true, force: true })
  }
  return { storage, directory, end }
}

/**
 * Keeps so many profiles in a directory.
 *
 * @param {string} directory
 * @param {number} count
 */
export async function fillStore(directory, count) {
  const { storage } = createStorage(count * 2, directory)
  for (let number = 0; number < count; number++) {
    const profile = createProfile(number)
    storage.append({ summary: profile.summary, text: JSON.stringify(profile) }, facts)
    if (number % 1000 === 999) await storage.flush()
  }
  await storage.close()
}

/**
 * A storage that reads what another one has written.
 *
 * @param {number} count
 */
async function createFilled(count) {
  const directory = mkdtempSync(path.join(tmpdir(), 'profiles-'))
  await fillStore(directory, count)
  const reader = createStorage(count * 2, directory)
  let total = 0
  while (total < count) total = (await reader.storage.search({ limit: 1 })).total
  return reader
}

/** @param {number} number */
function tokenOf(number) {
  return (number % 0x1000000).toString(16).padStart(6, '0')
}

/** @param {number} number */
export function createProfile(number) {
  /** @type {ProfileSummary} */
  const summary = {
    token: tokenOf(number),
    parent: null,
    type: 'request',
    outcome: 'complete',
    status: number % 7 === 0 ? 404 : 200,
    ip: '127.0.0.1',
    method: number % 3 === 0 ? 'POST' : 'GET',
    url: `http://localhost:8000/star-photo-booth?visitor=${number}`,
    route: 'star_photo_booth',
    controller: 'StarPhotoBooth::page',
    contentType: 'text/html; charset=UTF-8',
    time: 1_763_700_000_000 + number,
    duration: (number % 97) / 3,
    memory: 20_000_000,
    exception: number % 7 === 0 ? 'ROUTE_NOT_FOUND' : null,
    errors: 0,
    warnings: number % 5,
    calls: 0,
    queries: 0,
    queryTime: 0,
    cacheCalls: 0,
    subRequests: 0,
  }
  const calls = Array.from({ length: 60 }, (_, id) => ({ id, name: 'kernel.request', listener: `listener ${id}` }))
  return { schemaVersion: /** @type {const} */ (1), summary, children: [], data: { events: { calls } }, failures: {} }
}

/**
 * Does something at the rate, as often as it says.
 *
 * @param {number} times
 * @param {() => unknown} act
 */
async function pace(times, act) {
  const begun = performance.now()
  for (let done = 0; done < times; await wait(1)) {
    const due = Math.min(times, ((performance.now() - begun) * rate) / 1000)
    for (; done < due; done++) act()
  }
}

/**
 * @param {() => Promise<void>} task
 * @returns {Promise<number>} microseconds
 */
async function measureCpu(task) {
  const before = process.cpuUsage()
  await task()
  const { system, user } = process.cpuUsage(before)
  return user + system
}
