import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Test, t } from 'tap'
import { findFindings } from '#bundles/profiler/insight/findings/inspector.ts'
import { formatCaller } from '#bundles/profiler/profile/callers.ts'
import { toProfile } from '#bundles/profiler/profile/parse-profile.ts'
import type { Profile } from '#bundles/profiler/profile/profile.ts'
import { readCalls } from '#bundles/profiler/subjects/http/read.ts'
import { readLogs } from '#bundles/profiler/subjects/logs/read.ts'
import { packData } from '#bundles/profiler/subjects/pack.ts'
import { readQueries } from '#bundles/profiler/subjects/queries/read.ts'
import { Response } from '#lib/http/response.ts'
import { createProfiledKernel, type ProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { serveKernel } from '#tests/support/test-server.ts'

type Page = () => unknown

const answer = async () => {
  await nextTurn()
  return []
}
const run = (text: string) => kernel.app.queries.measure('postgresql', text, [], answer)

const db = {
  one: (id: number) => run(`SELECT ${id}`),
  async waiting(id: number) {
    await nextTurn()
    return run(`SELECT ${id}`)
  },
}
function sql(strings: TemplateStringsArray, id: number) {
  return run(strings.join(String(id)))
}
class Repository {
  find(id: number) {
    return kernel.app.queries.measure('postgresql', `SELECT ${id}`, [], answer)
  }
}
class Users extends Repository {
  findUser(id: number) {
    return super.find(id)
  }
}
const users = new Users()
const books = new Repository()
const read = (id: number) => kernel.app.queries.measure('postgresql', `SELECT ${id}`, [], answer)
const findBook = (id: number) => read(id)
function alone() {
  return run('SELECT 1')
}
function failing() {
  return kernel.app.queries.measure('postgresql', 'SELECT 1', [], async () => {
    throw new Error('It has failed.')
  })
}
const renamed = { other: (id: number) => run(`SELECT ${id}`) }
const { other: another } = renamed
const warn = (message: string) => kernel.app.logger.warning(message)
const load = (path: string) => fetch(url + path, { headers: { 'x-profiler': 'off' } })
async function showUser() {
  await run('SELECT 1')
}
/** A middleware with two places for what is behind it, as in Koa. */
async function pass(next: Page, isFirst: boolean) {
  if (isFirst) return await next()
  return await next()
}
async function transaction(work: Page, isNested: boolean) {
  if (isNested) return await work()
  return await work()
}
async function listAll() {
  await nextTurn()
  await run('SELECT 1')
}
async function tree(depth: number): Promise<void> {
  await run(`SELECT ${depth}`)
  if (depth > 0) await tree(depth - 1)
}
async function several() {
  for (const id of [1, 2, 3]) await run(`SELECT ${id}`)
}
/** As the library DataLoader does: the function for all keys runs later. */
class Loader {
  #keys: number[] = []
  readonly #batch: (keys: number[]) => unknown
  constructor(batch: (keys: number[]) => unknown) {
    this.#batch = batch
  }
  load(id: number) {
    if (this.#keys.push(id) === 1) process.nextTick(() => this.#batch(this.#keys.splice(0)))
    return nextTurn()
  }
}
const loader = new Loader(function batchUsers(keys) {
  return db.one(keys.length)
})

/** Two pages for each kind of helper, in functions with the names `one` and `two`. */
const members: Readonly<Record<string, readonly Page[]>> = {
  object: [
    async function one() {
      await db.one(1)
    },
    async function two() {
      await db.one(2)
    },
  ],
  waiting: [
    async function one() {
      await db.waiting(1)
    },
    async function two() {
      await db.waiting(2)
    },
  ],
  template: [
    async function one() {
      await sql`SELECT ${1}`
    },
    async function two() {
      await sql`SELECT ${2}`
    },
  ],
  class: [
    async function one() {
      await books.find(1)
    },
    async function two() {
      await books.find(2)
    },
  ],
  inheritance: [
    async function one() {
      await users.findUser(1)
    },
    async function two() {
      await users.findUser(2)
    },
  ],
  nested: [
    async function one() {
      await findBook(1)
    },
    async function two() {
      await findBook(2)
    },
  ],
  lines: [
    async function one() {
      await db.one(1)
    },
    async function two() {
      await Promise.all([1, 2].map(id => db.one(id)).slice(1))
    },
  ],
  both: [
    async function one() {
      await Promise.all([db.one(1), db.one(2)])
    },
    async function two() {
      await db.one(2)
    },
  ],
  logger: [
    function one() {
      warn('a')
    },
    function two() {
      warn('b')
    },
  ],
  fetch: [
    async function one() {
      await load('/logger/0')
    },
    async function two() {
      await load('/logger/1')
    },
  ],
  loader: [
    async function one() {
      await loader.load(1)
    },
    async function two() {
      await loader.load(2)
    },
  ],
  handler: [
    showUser,
    async function one() {
      await showUser()
    },
    async function two() {
      await showUser()
    },
  ],
  alone: [
    async function one() {
      await alone()
    },
  ],
  renamed: [
    async function one() {
      await another(1)
    },
    async function two() {
      await another(2)
    },
  ],
  middleware: [() => pass(listAll, true), () => pass(listAll, false)],
  transaction: [() => transaction(() => run('SELECT 1'), true), () => transaction(() => run('SELECT 1'), false)],
  recursion: [
    async function one() {
      await tree(0)
    },
    async function two() {
      await tree(2)
    },
  ],
  failing: [
    async function one() {
      await failing().catch(() => {})
    },
    async function two() {
      await failing().catch(() => {})
    },
  ],
  several: [
    async function one() {
      await several()
    },
    async function two() {
      await several()
    },
  ],
}

let kernel: ProfiledKernel
let url = ''

/** Starts the application with these pages. */
async function start(t: Test): Promise<void> {
  kernel = await createProfiledKernel(t, {
    register({ routes }) {
      for (const [name, pages] of Object.entries(members)) {
        for (const [index, page] of pages.entries()) {
          routes.get(`${name} ${index}`, `/${name}/${index}`, async () => {
            await page()
            return new Response('page')
          })
        }
      }
    },
  })
  url = (await serveKernel(t, kernel)).url
}

/** The places of a page, with `N` for each line. */
function placesIn(profile: Profile): string[] {
  const works = [...readQueries(profile).queries, ...readCalls(profile).calls, ...readLogs(profile).logs]
  const places = works.map(({ caller }) => formatCaller(caller).replaceAll(/:\d+/g, ':N'))
  return [...new Set(places)]
    .filter(place => place !== '')
    .map(place => place.replace(/\S*helpers\.test\.[jt]s/, 'FILE'))
}

t.test('a helper is known in all profiles of the process: the place is that of its caller', async t => {
  await start(t)
  const found: Record<string, string[][]> = {}
  for (const [name, pages] of Object.entries(members).filter(([name]) => name !== 'failing')) {
    const answers = []
    for (const index of pages.keys()) answers.push(await kernel.client.get(`/${name}/${index}`))
    // The profile that was recorded first is read last, too.
    found[name] = await Promise.all(answers.map(async answer => placesIn(await kernel.profileOf(answer))))
  }
  const via = (...helpers: string[]) => ['one', 'two'].map(name => [`${name}:N via ${helpers.join(', ')}`])
  t.strictSame(found, {
    object: via('one:N', 'run:N'),
    waiting: via('waiting:N', 'run:N'),
    template: via('sql:N', 'run:N'),
    class: via('Repository.find:N'),
    inheritance: via('Users.findUser:N', 'Repository.find:N'),
    nested: via('findBook:N', 'read:N'),
    // Of two queries at one place, each may be one of a loop.
    lines: [['one:N via one:N, run:N'], ['FILE:N']],
    both: via('one:N', 'run:N'),
    logger: via('warn:N'),
    fetch: via('load:N'),
    loader: [['Loader.batchUsers:N via one:N, run:N'], ['Loader.batchUsers:N via one:N, run:N']],
    handler: [['showUser:N via run:N'], ...via('showUser:N', 'run:N')],
    // A function that is called from one place only, or by another name, is none.
    alone: [['alone:N via run:N']],
    renamed: [['other:N via run:N'], ['other:N via run:N']],
    middleware: [['listAll:N via run:N'], ['listAll:N via run:N']],
    transaction: [['FILE:N via run:N'], ['FILE:N via run:N']],
    recursion: [['one:N via tree:N, run:N'], ['two:N via tree:N, run:N', 'tree:N via tree:N, run:N']],
    several: [['several:N via run:N'], ['several:N via run:N']],
  })
})

t.test('the place of a finding, which is opened and verified, is that of the caller', async t => {
  await start(t)
  const fail = async (page: string) => {
    const profile = await kernel.profileOf(await kernel.client.get(`/failing/${page}`))
    const { queries } = readQueries(profile)
    const [finding] = findFindings(profile).filter(({ rule }) => rule === 'failed-query')
    const { file, line } = queries[0]?.caller ?? {}
    t.strictSame(finding?.code, { file, line })
    return profile
  }
  const profile = await fail('0')
  t.strictSame(placesIn(profile), ['FILE:N'], 'one line has called the function')
  t.strictSame(placesIn(await fail('1')), ['two:N via failing:N'])
  t.strictSame(placesIn(await fail('0')), ['one:N via failing:N'])

  const { children, collectors, failures, schemaVersion, summary } = profile
  const { queries, omitted = 0 } = collectors.queries ?? {}
  const read = (time: number) => {
    const data = packData({ queries: { queries, omitted } })
    return placesIn(toProfile({ schemaVersion, summary: { ...summary, time }, children, failures, data }))
  }
  t.strictSame(read(summary.time), ['one:N via failing:N'], 'this process has recorded it')
  t.strictSame(read(0), ['FILE:N'], 'the lines of an earlier process may be others')
})
