import { t } from 'tap'
import { openPage, runScript } from './page.ts'
import { Stream } from './stream.ts'

const body = `<li class="finding"><a class="place" href="#editor">shop.ts:9</a>
<form data-verify="/_profiler/abc123/verify" data-time="1000"><input name="flaw" value="n.0"><button>Verify</button></form></li>`

const links = [{ text: 'New profile', link: '/_profiler/def456' }]

async function openVerification(t: Parameters<typeof openPage>[0], html: string = body) {
  const page = openPage(t, html)
  const requests: string[] = []
  const served: { answer?: object; release?: () => void; holds: boolean } = { holds: false }
  Stream.opened = []
  page.replace('EventSource', Stream)
  page.replace('fetch', async (url: string, init: { method: string; body: URLSearchParams }) => {
    requests.push(`${init.method} ${url} ${init.body}`)
    if (served.holds) await new Promise<void>(resolve => Object.assign(served, { release: resolve }))
    if (served.answer === undefined) throw new TypeError('Failed to fetch')
    return { json: async () => ({ proof: '', ...served.answer }) }
  })
  await runScript()
  const [button, cancel] = [...document.querySelectorAll('button')]
  const status = () => page.find('.verify-status')
  return {
    ...page,
    requests,
    served,
    button: button as HTMLButtonElement,
    cancel: cancel as HTMLButtonElement,
    text: () => String(status().textContent),
    state: () => status().dataset.state,
    stream: () => Stream.opened.at(-1) as Stream,
    async send(version: number, problem = '') {
      this.stream().send('state', { version, problem })
      await page.settle()
    },
  }
}

const hint = 'Save the fix: this request then runs again.'

t.test('the page waits for a saved file, replays the request, and shows the verdict', async t => {
  const page = await openVerification(t)
  t.equal(page.button.textContent, 'Fix and verify')
  t.equal(page.cancel.hidden, true)
  t.equal(page.text(), '')
  page.button.click()
  t.equal(location.hash, '#editor', 'the place opens in the editor')
  t.equal(page.stream().url, '/_profiler/state')
  t.strictSame([page.text(), page.state(), page.cancel.hidden], [hint, 'waiting', false])
  page.button.click()
  t.equal(Stream.opened.length, 1, 'once')
  await page.send(900)
  t.equal(page.text(), hint, 'this code has made the profile')
  t.strictSame(page.requests, [])
  page.served.answer = { state: 'fixed', text: 'Fixed: 51 queries → 2', links, proof: 'Before 51' }
  await page.send(2000)
  t.strictSame(page.requests, ['POST /_profiler/abc123/verify flaw=n.0'])
  t.strictSame([page.text(), page.state()], ['Fixed: 51 queries → 2 New profile Before 51', 'fixed'])
  t.equal(page.find<HTMLAnchorElement>('.verify-status a').getAttribute('href'), '/_profiler/def456')
  t.strictSame([page.stream().isClosed, page.cancel.hidden], [true, true])
  await page.send(3000)
  t.equal(page.requests.length, 1, 'the verdict is final')
})

t.test('another server may not start again by itself', async t => {
  const page = await openVerification(t, body.replace('data-time', 'data-elsewhere data-time'))
  page.button.click()
  t.equal(
    page.text(),
    'Save the fix, and start the application again if nothing does so: this request then runs again.',
  )
})

t.test('a flaw that is still there is verified again after the next save', async t => {
  const page = await openVerification(t)
  page.button.click()
  page.served.answer = { state: 'present', text: 'Still there', links: [] }
  await page.send(2000)
  t.strictSame([page.text(), page.state()], ['Still there Save another fix.', 'present'])
  await page.send(2000)
  t.equal(page.text(), `Still there ${hint}`)
  await page.send(2000, 'shop.ts:3: expected')
  t.strictSame([page.text(), page.state()], ['The changed files cannot be used: shop.ts:3: expected', 'failing'])
  page.served.holds = true
  await page.send(3000)
  t.equal(page.text(), 'The request runs again.')
  await page.send(4000)
  t.equal(page.requests.length, 2, 'one replay at a time')
  page.served.holds = false
  page.served.release?.()
  await page.settle()
  t.equal(page.requests.length, 3, 'a file was saved meanwhile')
  page.cancel.click()
  t.strictSame([page.text(), page.state(), page.stream().isClosed], ['Still there', '', true])
  await page.send(5000)
  t.equal(page.requests.length, 3)
})

t.test('a page that now fails is verified again after the next save, and a doubtful fix is final', async t => {
  const page = await openVerification(t)
  page.button.click()
  page.served.answer = { state: 'failing', text: 'The page now fails: status 500', links: [] }
  await page.send(2000)
  t.strictSame(
    [page.text(), page.state(), page.cancel.hidden],
    ['The page now fails: status 500 Save another fix.', 'failing', false],
  )
  page.served.answer = { state: 'doubtful', text: 'Fixed, but the page is now 3 B instead of 9 B', links: [] }
  await page.send(3000)
  t.strictSame(
    [page.text(), page.state(), page.cancel.hidden],
    ['Fixed, but the page is now 3 B instead of 9 B', 'doubtful', true],
  )
})

t.test('the page waits for a restart of the application, with growing delays, and not for ever', async t => {
  const page = await openVerification(t)
  page.button.click()
  page.served.holds = true
  await page.send(2000)
  const first = page.stream()
  first.send('error')
  page.served.release?.()
  await page.settle()
  t.equal(page.text(), 'The application is restarting.', 'the replay had no answer')
  await page.pass(200)
  t.equal(Stream.opened.length, 2)
  first.send('error')
  await page.pass(10_000)
  t.equal(Stream.opened.length, 2, 'an error of a closed stream')
  for (let failure = 1; failure < 6; failure++) {
    page.stream().send('error')
    await page.pass(5000)
  }
  t.match(page.text(), 'The application does not start')
  t.equal(page.state(), 'failing')
  page.served.holds = false
  page.served.answer = { state: 'unsure', text: 'Not replayed.', links }
  await page.send(3000)
  t.strictSame([page.text(), page.state()], ['Not replayed. New profile', 'unsure'])
  page.button.click()
  for (let failure = 0; failure < 200; failure++) {
    page.stream().send('error')
    await page.pass(5000)
  }
  t.equal(page.cancel.hidden, true, 'it gives up')
  page.button.click()
  page.stream().send('error')
  page.cancel.click()
  const { length } = Stream.opened
  await page.pass(10_000)
  t.equal(Stream.opened.length, length)
})
