import assert from 'node:assert/strict'
import { test } from 'node:test'
import { seed, seedPassword } from '../../../bundles/database/seed.ts'
import { boot } from '../../boot.ts'

test('of three members who borrow a tool at once, one gets it', async t => {
  const { client, close, join } = await boot()
  t.after(close)
  const members = await Promise.all(['Ada', 'Grace', 'Eve'].map(join))
  await members[0]?.post('/tools', { form: { name: 'A saw' } })
  await Promise.all(members.map(member => member.post('/tools/1/borrow')))
  const pages = await Promise.all(members.map(member => member.get('/')))
  assert.equal(pages.filter(({ text }) => text.includes('Give it back')).length, 1)
  assert.equal(pages.filter(({ text }) => text.includes('Another member was faster.')).length, 2)
  await Promise.all(members.map(member => member.post('/tools/1/return')))
  assert.doesNotMatch((await client.get('/')).text, /lent to/)
})

test('the owner of a tool gets one mail when it is borrowed', async t => {
  const { close, join, sendMails } = await boot()
  t.after(close)
  const ada = await join('Ada')
  await ada.post('/tools', { form: { name: 'A saw' } })
  const others = await Promise.all(['Grace', 'Eve'].map(join))
  await Promise.all(others.map(other => other.post('/tools/1/borrow')))
  const [mail, ...more] = await sendMails()
  assert.equal(mail?.to, 'ada@example.org')
  assert.match(mail.text, /(?:Grace|Eve) would like to borrow this: A saw\./)
  assert.deepEqual(more, [])
  assert.equal((await sendMails()).length, 1, 'it is sent once')
})

test('only administrators remove tools', async t => {
  const { client, close, database, join } = await boot()
  t.after(close)
  await seed(database)
  const member = await join('Eve')
  assert.equal((await member.post('/tools/1/remove')).status, 403)
  await client.post('/login', { form: { email: 'admin@example.org', password: seedPassword } })
  assert.match((await client.get('/')).text, /Remove it/)
  assert.equal((await client.post('/tools/1/remove')).status, 303)
  assert.match((await client.get('/')).text, /44 in all/)
})

test('the list has pages, and a search', async t => {
  const { client, close, database } = await boot()
  t.after(close)
  await seed(database)
  const first = await client.get('/')
  assert.match(first.text, /Tool 20.*45 in all.*rel="next"/s)
  assert.doesNotMatch(first.text, /Tool 21|Previous/)
  const last = await client.get('/?page=3')
  assert.match(last.text, /Tool 41.*Tool 45.*Previous/s)
  assert.doesNotMatch(last.text, /Next/)
  assert.match((await client.get('/?q=TOOL+07')).text, /Tool 07.*1 in all/s)
  assert.match((await client.get('/?q=%25')).text, /No tool has this name\./)
  assert.equal((await client.get('/?page=0')).status, 400)
})

test('a member gets the list as a table', async t => {
  const { client, close, join } = await boot()
  t.after(close)
  assert.equal((await client.get('/tools.csv')).headers.get('location'), '/login?back=%2Ftools.csv')
  const ada = await join('Ada')
  await ada.post('/tools', { form: { name: '=1+2;"x"' } })
  const { headers, text } = await ada.get('/tools.csv')
  assert.match(headers.get('content-type') ?? '', /^text\/csv/)
  assert.equal(text.replace('\uFEFF', ''), '"Name","Owner","Borrower"\r\n"\'=1+2;""x""","Ada",""\r\n')
})

test('a login leads to the page that was wanted, and to no other host', async t => {
  const { client, close, createClient, join } = await boot()
  t.after(close)
  await join('Ada')
  const form = { email: 'ada@example.org', password: 'a good password' }
  const wanted = await client.get('/de/tools/new?q=1')
  assert.equal(wanted.headers.get('location'), '/de/login?back=%2Fde%2Ftools%2Fnew%3Fq%3D1')
  const login = String(wanted.headers.get('location'))
  assert.match((await client.post(login, { form: { ...form, password: '' } })).text, /Adresse oder das Passwort/)
  assert.equal((await client.post(login, { form })).headers.get('location'), 'http://localhost/de/tools/new?q=1')

  // After a form, that is the page with the form.
  const other = createClient()
  const sent = await other.post('/tools/1/borrow', { headers: { referer: 'http://localhost/?page=2' } })
  assert.equal(sent.headers.get('location'), '/login?back=%2F%3Fpage%3D2')
  const foreign = await other.post('/tools/1/borrow', { headers: { referer: 'http://localhost.example.org/x' } })
  assert.equal(foreign.headers.get('location'), '/login')

  const hosts = ['//evil.example', '/\\evil.example', 'https://evil.example/', 'evil.example', '/\t/evil.example', '']
  const targets = new Set<string>()
  for (const back of hosts) {
    const { headers } = await client.post(`/login?${new URLSearchParams({ back })}`, { form })
    targets.add(new URL(String(headers.get('location')), 'http://localhost/').host)
  }
  assert.deepEqual([...targets], ['localhost'])
})
