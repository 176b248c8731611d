import { t } from 'tap'
import {
  createDependent,
  listProfiles,
  type ProfileData,
  readProfile,
  startProfiled,
} from '#tests/support/start-profiled.ts'
import { until } from '#tests/support/until.ts'

const source = `
import { createRequire } from 'node:module'
import { createServer } from 'node:http'
import cron, { schedule } from 'node-cron'
import { Cron } from 'croner'
const require = createRequire(import.meta.url)
const server = createServer((_, reply) => reply.end('inner')).listen(0, '127.0.0.1', async () => {
  const url = 'http://127.0.0.1:' + server.address().port + '/inner?of='
  const tick = name => async () => {
    await (await fetch(url + name)).text()
    console.log(name)
  }
  const fail = name => () => {
    throw new TypeError('no ' + name)
  }
  const quiet = { setup() {}, error() {}, warn() {}, info() {}, debug() {} }
  schedule('* * * * * *', tick('named'), { name: 'named' })
  schedule('*/1 * * * * *', tick('*/1 * * * * *'))
  cron.createTask('0 0 1 1 *', fail('cron'), { name: 'failing cron', logger: quiet }).execute().catch(() => undefined)
  new Cron('* * * * * *', { name: 'of croner' }, tick('of croner'))
  new Cron('0 0 1 1 *', { name: 'failing croner', catch: true }, fail('croner')).trigger()
  const other = require('node-cron').createTask('0 0 1 1 *', tick('0 0 1 1 *'))
  other.execute()
  new (require('croner').Cron)('0 0 2 1 *', tick('0 0 2 1 *')).trigger()
  console.log(JSON.stringify([server.address().port]))
})
process.stdin.on('end', () => process.exit()).resume()
`

t.test('each run of a schedule is a task', async t => {
  const { stop, viewer } = await startProfiled(t, source, {}, createDependent(t, 'node-cron', 'croner'))
  const names = ['named', '*/1 * * * * *', 'of croner', '0 0 1 1 *', '0 0 2 1 *', 'failing cron', 'failing croner']
  let found: readonly ProfileData['summary'][] = []
  await until(async () => {
    found = await listProfiles(viewer)
    return names.every(name => found.some(({ outcome, route }) => route === `task ${name}` && outcome !== 'pending'))
  }, 20)
  const tasks = found.filter(({ type }) => type === 'task')
  const wrong: string[] = []
  for (const { outcome, route, token } of tasks) {
    const { data } = await readProfile(viewer, token)
    const name = String(route).slice('task '.length)
    const { calls = [] } = (data.http ?? {}) as { calls?: readonly { url: string }[] }
    const called = calls.map(({ url }) => decodeURIComponent(url.split('=')[1] ?? '')).join()
    const isFailing = name.startsWith('failing')
    if (called !== (isFailing ? '' : name) || (outcome === 'failed') !== isFailing)
      wrong.push(`${name}: ${outcome} ${called}`)
  }
  t.strictSame(wrong, [], 'each task has its own calls and its outcome')
  await stop()
})
