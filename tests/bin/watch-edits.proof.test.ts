import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { t } from 'tap'
import { lacksPostgres, startPostgres } from '#tests/support/start-postgres.ts'
import { startProcess } from '#tests/support/start-process.ts'
import { findProfile } from '#tests/support/start-profiled.ts'
import { until } from '#tests/support/until.ts'

const program = path.join(import.meta.dirname, '../fixtures/profiled-program.js')
const { NODE_ENV: _, PROFILER_VIEWER: __, PROFILER_REPLAY_SECRET: ___, ...environment } = process.env

/** Runs queries one after another. */
const repeat = (text: string, count: number) =>
  `for (let id = 0; id < ${count}; id++) await pool.query('${text}', [id]);`
const item = 'SELECT $1::int AS price'
const many = repeat(item, 30)
const join = `await pool.query('SELECT 1 AS prices');`
const fields = ['id, name', 'name, id', 'id, name, 1', '1, name, id']
const orders = fields.map(list => repeat(`SELECT ${list} FROM (SELECT $1::int AS id, 2 AS name) items`, 8))

/**
 * Edits of pages of an application of Express, and the beginning of what is true of them: empty if
 * nothing has become better.
 */
const edits: readonly (readonly [edit: string, before: string, after: string, claim: string])[] = [
  ['a join', many, join, 'fixed: N+1 queries'],
  ['nothing is read', many, '', 'fixed: N+1 queries'],
  ['half of it', many, repeat(item, 15), ''],
  ['one less', many, repeat(item, 29), ''],
  ['four orders of the fields', many, orders.join(''), 'changed its form: N+1 queries'],
  ['another alias', many, repeat('SELECT $1::int AS cost', 30), 'changed its form: N+1 queries'],
  ['after a timer', many, `setTimeout(async () => { ${many} }, 60);`, 'moved: N+1 queries'],
  ['half after a timer', many, `setTimeout(async () => { ${many} }, 50); ${repeat(item, 15)}`, ''],
  ['one slow query', many, `await pool.query('SELECT pg_sleep(0.6)');`, 'changed its form: N+1 queries'],
  ['another N+1 as well', many, `${many}${repeat('SELECT $1::int AS user', 12)}`, 'new: N+1 queries'],
  ['an error', many, `throw new TypeError('on purpose');`, '200 → 500 TypeError'],
  ['a refusal', many, `return reply.status(403).send('no');`, '200 → 403'],
  ['an empty page', many, `return reply.send('-');`, 'gone: N+1 queries'],
  ['nothing about it', many, `${many} `, ''],
  ['an error that is gone', `throw new TypeError('x');`, '', '500 TypeError → 200'],
  ['the same error', `throw new TypeError('x');`, `throw new TypeError('x');`, ''],
]

const writePages = (pages: readonly string[]) =>
  pages.map((page, index) => `export const page${index} = async (pool, reply) => { ${page} }`).join('\n')

t.test(
  '"Since your edit" is true after edits under --watch, also after one with a syntax error',
  { skip: lacksPostgres },
  async t => {
    const place = await startPostgres(t)
    const cwd = t.testdir({
      node_modules: {},
      'pages.mjs': writePages(edits.map(([, before]) => before)),
      'app.mjs': `
      import express from 'express'
      import pg from 'pg'
      import * as pages from './pages.mjs'
      const pool = new pg.Pool(${JSON.stringify(place)})
      const app = express()
      for (const [name, page] of Object.entries(pages)) {
        app.get('/' + name, async (_, reply) => {
          await page(pool, reply)
          if (!reply.headersSent) reply.send('x'.repeat(20_000))
        })
      }
      app.use((error, request, reply, next) => reply.status(500).send('failed'))
      const server = app.listen(0, '127.0.0.1', () => console.log('port ' + server.address().port))`,
    })
    const child = startProcess(t, [process.execPath, program, '--watch', 'app.mjs'], {
      cwd,
      env: { ...environment, PROFILER_PORT: '0' },
    })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', text => (output += text))
    /** Waits until the application listens for the first, second, … time, and requests all pages one after another. */
    const visit = async (start: number) => {
      const find = (pattern: RegExp) => [...output.matchAll(pattern)].at(start)?.[1]
      await until(() => find(/^port (\d+)$/gm) !== undefined)
      for (const index of edits.keys()) await fetch(`http://127.0.0.1:${find(/^port (\d+)$/gm)}/page${index}`)
    }
    await visit(0)
    writeFileSync(path.join(cwd, 'pages.mjs'), 'export const page0 = (')
    await until(() => output.includes('SyntaxError'))
    writeFileSync(path.join(cwd, 'pages.mjs'), writePages(edits.map(([, , after]) => after)))
    // A time counts if it is in each of three requests.
    for (const _time of [1, 2, 3]) await visit(1)

    const [, viewer = ''] = [...output.matchAll(/^Profiler: (http:\S+)\/_profiler\/$/gm)].at(-1) ?? []
    const mistakes: string[] = []
    for (const [index, [edit, , , claim]] of edits.entries()) {
      const found: unknown = await findProfile(viewer, `/page${index}`)
      const { files = [], changes = [] } = Object(Object(Object(found).overview).sinceEdit)
      const texts: string[] = changes.map(({ text }: { readonly text: string }) => text)
      const isTrue =
        claim === '' ? !texts.some(text => /fixed|gone|→/.test(text)) : texts.some(text => text.startsWith(claim))
      if (!isTrue || String(files) !== 'pages.mjs')
        mistakes.push(`${edit}, ${files}: ${texts.join('; ')}, not "${claim}"`)
    }
    t.strictSame(mistakes, [])
  },
)
