import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runCommand } from 'sinfonietta/testing'
import { boot } from './boot.ts'

test('all texts are in both languages', async t => {
  const { app, client, close } = await boot()
  t.after(close)
  const { code, output } = await runCommand(app, 'debug:translation')
  assert.equal(code, 0, output)
  const { text } = await client.get('/de/password')
  assert.match(text, /<html lang="de">.*href="\/de\/login">Anmelden<.*href="\/" hreflang="en"/s)
})
