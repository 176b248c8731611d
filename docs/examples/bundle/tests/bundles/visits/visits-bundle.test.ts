import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { test } from 'node:test'
import { type Bundle, createFrameworkBundle, RequestEvent } from 'sinfonietta'
import { exitCodes } from 'sinfonietta/console'
import { createTestKernel, runCommand } from 'sinfonietta/testing'
import { slowEventsBundle } from '../../../bundles/slow-events/slow-events-bundle.ts'
import { VisitsBundle } from '../../../bundles/visits/visits-bundle.ts'

test('visits are kept when the process ends', async t => {
  const directory = mkdtempSync(path.join(tmpdir(), 'visits-'))
  cpSync('templates', path.join(directory, 'templates'), { recursive: true })
  const boot = () => createTestKernel({ bundles: [createFrameworkBundle(), new VisitsBundle()], directory })

  const first = await boot()
  await first.client.get('/visits')
  await first.client.get('/visits')
  await first.close()

  const second = await boot()
  t.after(async () => {
    await second.close()
    rmSync(directory, { recursive: true })
  })
  assert.match((await second.client.get('/visits')).text, /<li>visits: 2<\/li>/)
})

test('the command lists visits', async t => {
  const directory = mkdtempSync(path.join(tmpdir(), 'visits-'))
  cpSync('templates', path.join(directory, 'templates'), { recursive: true })
  const { app, client, close } = await createTestKernel({
    bundles: [createFrameworkBundle(), new VisitsBundle()],
    directory,
  })
  t.after(async () => {
    await close()
    rmSync(directory, { recursive: true })
  })
  await client.get('/visits')

  const listed = await runCommand(app, 'visits:list', ['--json'])
  assert.deepEqual([listed.code, JSON.parse(listed.output)], [exitCodes.success, { visits: 1 }])
  const refused = await runCommand(app, 'visits:list', ['--least', 'many'])
  assert.deepEqual([refused.code, refused.errors], [exitCodes.usage, '--least must be an integer.\n'])
})

test('a slow event is logged', async t => {
  const slow: Bundle = {
    name: 'slow',
    register({ dispatcher }) {
      dispatcher.on(RequestEvent, () => new Promise(resolve => setTimeout(resolve, 120)))
    },
  }
  const bundles = [slowEventsBundle, createFrameworkBundle(), slow]
  const { client, close, records } = await createTestKernel({ bundles })
  t.after(close)
  await client.get('/')
  assert.ok(records.some(({ message }) => message.startsWith('The event kernel.request has taken ')))
})
