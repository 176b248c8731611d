import assert from 'node:assert/strict'
import { cpSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type TestContext, test } from 'node:test'
import { createFrameworkBundle } from 'sinfonietta'
import { createTestKernel } from 'sinfonietta/testing'
import { adminBundle } from '../../../bundles/admin/admin-bundle.ts'
import { contactBundle } from '../../../bundles/contact/contact-bundle.ts'

const password = 'a word of the test'

async function boot(t: TestContext) {
  const directory = mkdtempSync(path.join(tmpdir(), 'contact-'))
  cpSync('templates', path.join(directory, 'templates'), { recursive: true })
  const bundles = [createFrameworkBundle(), adminBundle, contactBundle]
  const { client, close } = await createTestKernel({ bundles, directory, variables: { ADMIN_PASSWORD: password } })
  t.after(async () => {
    await close()
    rmSync(directory, { recursive: true })
  })
  return { client, kept: path.join(directory, 'var/contact') }
}

const good = { name: 'Ada', text: 'How much is it?' }

test('a message is kept, and the thanks are shown once', async t => {
  const { client, kept } = await boot(t)
  const picture = { name: '../../me.png', type: 'image/png', content: 'not really' }
  const sent = await client.post('/contact', { upload: { ...good, picture } })
  assert.equal(sent.status, 303)
  assert.deepEqual(
    readdirSync(kept)
      .map(name => path.extname(name))
      .sort(),
    ['.picture', '.txt'],
  )
  assert.match((await client.follow(sent)).text, /<p class="notice">Thank you, Ada\.<\/p>/)
  assert.doesNotMatch((await client.get('/contact')).text, /Thank you/)
})

test('a form with mistakes is shown again, as it was filled in', async t => {
  const { client } = await boot(t)
  const { status, text } = await client.post('/contact', { form: { name: '<Ada>', text: 'Hi' } })
  assert.equal(status, 422)
  assert.match(text, /<strong>Please write 10 characters or more\.<\/strong>/)
  assert.equal(text.match(/<strong>/g)?.length, 1, 'the other fields have no issue')
  assert.match(text, /value="&lt;Ada&gt;"/)
})

test('a client that only reads gets no session', async t => {
  const { client } = await boot(t)
  assert.equal((await client.get('/contact')).headers.get('set-cookie'), null)
})

test('only the administrator gets a picture, as a file', async t => {
  const { client, kept } = await boot(t)
  const picture = { name: 'me.html', type: 'text/html', content: '<p>' }
  await client.post('/contact', { upload: { ...good, picture } })
  const [name = ''] = readdirSync(kept).filter(each => each.endsWith('.picture'))
  const url = `/contact/pictures/${path.parse(name).name}`
  const isRefused = async () => (await client.get(url)).headers.get('location') === '/login'
  assert.ok(await isRefused())
  assert.equal((await client.post('/login', { form: { password: 'wrong' } })).status, 422)
  assert.ok(await isRefused())

  const before = client.cookies.get('session')
  const loggedIn = await client.post('/login', { form: { password } })
  assert.notEqual(client.cookies.get('session'), before)
  assert.match((await client.follow(loggedIn)).text, /Log out/)
  const { headers, text } = await client.get(url)
  assert.equal(text, '<p>')
  assert.equal(headers.get('content-type'), 'application/octet-stream')
  assert.equal(headers.get('content-disposition'), 'attachment; filename="picture"')
  assert.equal(headers.get('x-content-type-options'), 'nosniff')
  assert.equal(headers.get('cache-control'), 'max-age=0, must-revalidate, private')
  for (const id of ['00000000-0000-0000-0000-000000000000', '..%2Fcontact%2Fpicture']) {
    assert.equal((await client.get(`/contact/pictures/${id}`)).status, 404)
  }

  await client.post('/logout')
  assert.ok(await isRefused())
})

test('forms of other sites are refused', async t => {
  const { client } = await boot(t)
  const post = async (headers: Record<string, string>) =>
    (await client.post('/contact', { form: good, headers })).status
  assert.equal(await post({ 'sec-fetch-site': 'cross-site' }), 403)
  assert.equal(await post({ origin: 'https://evil.test' }), 403)
  assert.equal(await post({ 'sec-fetch-site': 'same-origin' }), 303)
  assert.equal(await post({ origin: 'http://localhost' }), 303)
})
