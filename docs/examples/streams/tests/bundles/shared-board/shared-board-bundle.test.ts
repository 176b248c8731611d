import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { Pool } from 'pg'
import { createFrameworkBundle } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { createSharedBoardBundle, notesTable } from '../../../bundles/shared-board/shared-board-bundle.ts'

const url = String(process.env.TEST_DATABASE_URL)
const pool = new Pool({ connectionString: url })
test.before(() => pool.query(notesTable))
test.after(() => pool.end())

/** The processes of PostgreSQL for the connections that listen. */
async function findListeners(): Promise<number[]> {
  const statement = "SELECT pid FROM pg_stat_activity WHERE application_name = 'shared-board' AND query LIKE 'LISTEN%'"
  return (await pool.query<{ pid: number }>(statement)).rows.map(({ pid }) => pid)
}

async function until(isDone: () => Promise<boolean>): Promise<void> {
  while (!(await isDone())) await setTimeout(20)
}

async function startWorker() {
  const { client, close } = await createTestKernel({ bundles: [createFrameworkBundle(), createSharedBoardBundle(url)] })
  const add = (body: string) => client.post('/shared-board', { body, headers: { 'content-type': 'text/plain' } })
  const open = (lastId = 0) => client.open('/shared-board/events', { headers: { 'last-event-id': String(lastId) } })
  return { add, close, open }
}

test('the clients of all workers get new notes, also those that were missed', async () => {
  const [first, second] = await Promise.all([startWorker(), startWorker()])
  const stream = await second.open()
  const early = stream.readUntil('"two"}\n\n')
  await until(async () => (await findListeners()).length === 2)
  await first.add('one')
  await first.add('two')
  const event = (id: number, text: string) => `event: note\nid: ${id}\ndata: {"id":${id},"text":"${text}"}\n\n`
  assert.equal(await early, `:\n\n${event(1, 'one')}${event(2, 'two')}`)

  // The connections that listen are lost: the note comes when there are others.
  const lost = await findListeners()
  for (const pid of lost) await pool.query('SELECT pg_terminate_backend($1)', [pid])
  await until(async () => !(await findListeners()).some(pid => lost.includes(pid)))
  const late = stream.readUntil('"three"}\n\n')
  await first.add('three')
  assert.match(await late, /three/)
  await stream.close()

  const again = await first.open(2)
  assert.equal(await again.readUntil('}\n\n'), `:\n\n${event(3, 'three')}`)
  await again.close()
  await Promise.all([first.close(), second.close()])
  await until(async () => (await findListeners()).length === 0)
})
