import { t } from 'tap'
import { openPage, type Page, runScript } from './page.ts'
import { Stream } from './stream.ts'

const row = (token: string) =>
  `<tr data-token="${token}"><td class="select"><input type="checkbox" value="${token}"></td>
  <td><a class="entry" href="/_profiler/${token}">${token}</a></td>
  <td><button class="pin" form="pins" formaction="/_profiler/${token}/pin">Pin</button></td></tr>`

const results = (tokens: readonly string[], live = '/_profiler/live?') =>
  `<section id="results" data-live="${live}" data-newest="${tokens[0]}"><div class="live"></div><form id="pins"></form>
  <form class="compare-bar"><p></p><button>Compare</button></form><table><tbody>${tokens.map(row).join('')}</tbody></table></section>`

const search = `<form id="search" action="/_profiler/search"><input name="url"><input name="token" value="abc"><input name="ip"></form>`

/** A list with these rows; `served` are those that the server has, as what it is asked for is listed in `requests`. */
async function openList(page: Page, tokens: readonly string[]) {
  const served = { tokens, isBroken: false, hasResults: true, pending: [] as (() => void)[], holds: false }
  const requests: string[] = []
  Stream.opened = []
  page.replace('EventSource', Stream)
  page.replace('fetch', async (url: string, { method = 'GET', signal }: RequestInit) => {
    requests.push(`${method} ${url}`)
    signal?.throwIfAborted()
    if (served.isBroken) throw new Error('ECONNREFUSED')
    const text = async () => {
      const { holds, tokens } = served
      if (holds) await new Promise<void>(resolve => served.pending.push(resolve))
      return `<title>${tokens.length} results</title>${served.hasResults ? results(holds ? served.tokens : tokens) : ''}`
    }
    return { ok: true, url: 'http://localhost/found', text }
  })
  document.body.innerHTML = search + results(tokens)
  await runScript()
  return { served, requests }
}

const listed = () => [...document.querySelectorAll<HTMLElement>('tr')].map(({ dataset }) => dataset.token)
const lastStream = () => Stream.opened.at(-1)

t.test('a page without a list is left alone', async t => {
  openPage(t, '<form id="search"></form>')
  await runScript()
  t.equal(document.body.innerHTML, '<form id="search"></form>')
})

t.test('the list is filtered as the user types, and the URL follows', async t => {
  const page = openPage(t, '')
  const { requests, served } = await openList(page, ['a'])
  page.enter('[name="token"]', 'abcdef')
  await page.pass(1000)
  t.strictSame(requests, [], 'a token opens its profile')
  served.tokens = ['b', 'c']
  page.enter('[name="url"]', '/sh')
  await page.pass(100)
  page.enter('[name="url"]', '/shop')
  await page.pass(199)
  t.strictSame(requests, [])
  await page.pass(1)
  t.strictSame(requests, ['GET http://localhost/_profiler/search?url=%2Fshop'])
  t.strictSame(listed(), ['b', 'c'])
  t.strictSame([document.title, location.href], ['2 results', 'http://localhost/found'])
  served.hasResults = false
  page.enter('[name="url"]', '/s')
  await page.pass(200)
  served.isBroken = true
  page.enter('[name="url"]', '/')
  await page.pass(200)
  t.strictSame(listed(), ['b', 'c'], 'without results nothing changes')
})

t.test('a later request replaces one that is in progress', async t => {
  const page = openPage(t, '')
  const { served } = await openList(page, ['a'])
  served.holds = true
  page.enter('[name="url"]', 'first')
  await page.pass(200)
  page.enter('[name="url"]', 'second')
  await page.pass(200)
  served.tokens = ['second']
  for (const release of served.pending) release()
  await page.settle()
  t.strictSame(listed(), ['second'])
})

t.test('a profile is pinned without a page load, and the button keeps the focus', async t => {
  const page = openPage(t, '')
  const { requests, served } = await openList(page, ['a', 'b'])
  const submit = (submitter: Element | null) => {
    const event = Object.assign(new Event('submit', { bubbles: true, cancelable: true }), { submitter })
    page.find('#pins').dispatchEvent(event)
    return event.defaultPrevented
  }
  t.notOk(submit(null))
  t.notOk(submit(page.find('.compare-bar button')))
  t.ok(submit(document.querySelectorAll('.pin')[1] ?? null))
  await page.settle()
  t.strictSame(requests, ['POST http://localhost/_profiler/b/pin'])
  t.equal(document.activeElement?.closest('tr')?.dataset.token, 'b')
  served.isBroken = true
  t.ok(submit(page.find('.pin')))
  await page.settle()
  t.equal(document.activeElement?.closest('tr')?.dataset.token, 'b')
})

t.test('two profiles can be selected: the third replaces the first', async t => {
  const page = openPage(t, '')
  const { served } = await openList(page, ['a', 'b', 'c'])
  const text = () => page.find('.compare-bar p').textContent
  const boxes = () => [...document.querySelectorAll<HTMLInputElement>('.select input')]
  const toggle = (index: number) => {
    const box = boxes()[index]
    if (box) box.checked = !box.checked
    box?.dispatchEvent(new Event('change', { bubbles: true }))
  }
  const isDisabled = () => page.find<HTMLButtonElement>('.compare-bar button').disabled
  t.ok(isDisabled())
  toggle(0)
  t.equal(text(), '1 selected: select another one, then')
  toggle(1)
  t.strictSame([text(), isDisabled()], ['2 selected', false])
  toggle(2)
  t.strictSame(
    boxes().map(({ checked }) => checked),
    [false, true, true],
  )
  toggle(2)
  t.ok(isDisabled())
  served.tokens = ['d', 'b']
  page.enter('[name="url"]', '/')
  await page.pass(200)
  t.strictSame(
    boxes().map(({ checked }) => checked),
    [false, true],
    'the selection stays when the list changes',
  )
})

t.test('j and k move from row to row', async t => {
  const page = openPage(t, '')
  const { served } = await openList(page, ['a', 'b'])
  const path: (string | undefined)[] = []
  for (const key of ['k', 'j', 'j', 'j', 'k', 'x']) {
    page.press(key)
    path.push(document.activeElement?.closest('tr')?.dataset.token)
  }
  t.strictSame(path, ['a', 'b', 'b', 'b', 'a', 'a'])
  page.press('j', { ctrlKey: true })
  page.press('j', {}, page.find('[name="url"]'))
  t.equal(document.activeElement?.closest('tr')?.dataset.token, 'a')
  page.press('j', {}, document)
  t.equal(document.activeElement?.closest('tr')?.dataset.token, 'b')
  served.tokens = ['c', 'b']
  page.enter('[name="url"]', '/')
  await page.pass(200)
  t.equal(document.activeElement?.closest('tr')?.dataset.token, 'b', 'the same row keeps the focus')
})

t.test('new profiles appear by themselves, marked and announced', async t => {
  const page = openPage(t, '')
  const { requests, served } = await openList(page, ['a'])
  t.equal(lastStream()?.url, '/_profiler/live?&after=a', 'it begins with the profiles that were stored after this one')
  served.tokens = ['b', 'a']
  lastStream()?.send('open')
  await page.settle()
  t.equal(page.find('.live-state').textContent, 'Live')
  t.equal(requests.length, 0, 'the page is not loaded again')
  lastStream()?.send('profiles', 'b')
  await page.pass(0)
  t.strictSame([listed(), requests.length], [['b', 'a'], 1], 'the first profile is shown at once')
  await page.pass(5000)
  served.tokens = ['d', 'c', 'b', 'a']
  lastStream()?.send('profiles', 'c d')
  lastStream()?.send('profiles', 'c')
  await page.pass(0)
  t.equal(requests.length, 2)
  const marked = [...document.querySelectorAll<HTMLElement>('.is-new')].map(({ dataset }) => dataset.token)
  t.strictSame(marked, ['d', 'c'])
  t.equal(page.find('[role="status"]').textContent, '2 new profiles')

  served.tokens = ['e', ...served.tokens]
  lastStream()?.send('profiles', 'e')
  await page.pass(500)
  t.equal(page.find('[role="status"]').textContent, '2 new profiles', 'there is a pause between announcements')
  await page.pass(5000)
  t.equal(page.find('[role="status"]').textContent, '1 new profile')
  await page.pass(5000)
  lastStream()?.send('reload')
  await page.pass(500)
  t.equal(requests.length, 4)
})

t.test('a list that is in use does not move: a button shows the number of new profiles', async t => {
  const page = openPage(t, '')
  const { requests, served } = await openList(page, ['a'])
  const button = page.find<HTMLButtonElement>('.news')
  const { querySelector } = Element.prototype
  let isHovered = true
  page.find('#results').querySelector = function (this: Element, selector: string) {
    return selector.includes(':hover') ? (isHovered ? this : null) : querySelector.call(this, selector)
  } as typeof querySelector
  lastStream()?.send('open')
  lastStream()?.send('profiles', 'b a')
  await page.pass(500)
  t.strictSame([button.hidden, button.textContent, requests], [false, '1 new', []])
  lastStream()?.send('reload')
  await page.pass(500)
  t.equal(button.textContent, 'Many new')
  served.tokens = ['b', 'a']
  button.dispatchEvent(new MouseEvent('click', { detail: 0 }))
  await page.settle()
  t.strictSame([listed(), button.hidden], [['b', 'a'], true])
  t.equal(document.activeElement?.textContent, 'b', 'a key press on the button goes on from the first row')

  lastStream()?.send('profiles', 'c')
  await page.pass(500)
  served.tokens = ['c', 'b', 'a']
  button.dispatchEvent(new MouseEvent('click', { detail: 1 }))
  await page.settle()
  t.strictSame(listed(), ['c', 'b', 'a'])
  lastStream()?.send('profiles', Array.from({ length: 1001 }, (_, index) => `t${index}`).join(' '))
  await page.pass(500)
  t.equal(button.textContent, 'Many new')
  isHovered = false
  page.find('#results').dispatchEvent(new Event('pointerleave'))
  await page.pass(1000)
  t.equal(button.hidden, true)
  lastStream()?.send('profiles', 'a')
  isHovered = true
  await page.pass(500)
  t.equal(button.hidden, true, 'the list has this one')
})

t.test('the live list waits for a request in progress, and for a selection of text', async t => {
  const page = openPage(t, '')
  const { requests, served } = await openList(page, ['a'])
  served.holds = true
  page.enter('[name="url"]', '/')
  await page.pass(200)
  lastStream()?.send('open')
  lastStream()?.send('profiles', 'b')
  await page.pass(500)
  t.equal(requests.length, 1)
  served.holds = false
  served.tokens = ['b', 'a']
  for (const release of served.pending) release()
  await page.pass(500)
  t.strictSame(listed(), ['b', 'a'])
  page.replace('getSelection', () => ({ isCollapsed: false, anchorNode: page.find('.entry') }))
  lastStream()?.send('profiles', 'c')
  await page.pass(500)
  t.equal(page.find('.news').hidden, false)
})

t.test('the stream is opened again after errors, later each time, and only while the page is visible', async t => {
  const page = openPage(t, '')
  await openList(page, ['a'])
  const state = () => page.find('.live-state').textContent
  const waits: number[] = []
  for (let error = 0; error < 8; error++) {
    const { length } = Stream.opened
    lastStream()?.send('error')
    let wait = 0
    for (; Stream.opened.length === length; wait += 500) await page.pass(500)
    waits.push(wait)
  }
  t.strictSame(waits, [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000])
  t.equal(state(), 'Reconnecting')
  lastStream()?.send('open')
  t.equal(state(), 'Live')
  const show = (isHidden: boolean) => {
    Object.defineProperty(document, 'hidden', { value: isHidden, configurable: true })
    document.dispatchEvent(new Event('visibilitychange'))
  }
  const before = lastStream()
  show(true)
  t.strictSame([before?.isClosed, state()], [true, ''])
  show(false)
  t.not(lastStream(), before)
  dispatchEvent(new Event('pagehide'))
  t.equal(lastStream()?.isClosed, true)
  const { length } = Stream.opened
  dispatchEvent(Object.assign(new Event('pageshow'), { persisted: false }))
  t.equal(Stream.opened.length, length)
  dispatchEvent(Object.assign(new Event('pageshow'), { persisted: true }))
  t.equal(Stream.opened.length, length + 1, 'a page from the cache of the browser')
})

t.test('a busy server is asked for the list at most twice a second', async t => {
  const page = openPage(t, '')
  const { requests, served } = await openList(page, ['a'])
  lastStream()?.send('open')
  const counts: number[] = []
  for (const token of ['b', 'c', 'd', 'e', 'f']) {
    served.tokens = [token, ...served.tokens]
    lastStream()?.send('profiles', token)
    await page.pass(100)
    counts.push(requests.length)
  }
  t.strictSame(counts, [1, 1, 1, 1, 1])
  await page.pass(100)
  t.strictSame([requests.length, listed()], [2, ['f', 'e', 'd', 'c', 'b', 'a']])
})

t.test('the row with the focus has a preview of its profile, until the Escape key', async t => {
  const page = openPage(t, '')
  page.replace('EventSource', Stream)
  let isWide = true
  page.replace('matchMedia', () => ({ matches: isWide }))
  const requests: string[] = []
  let isBroken = false
  page.replace('fetch', async (url: string) => {
    requests.push(url)
    if (isBroken) throw new Error('ECONNREFUSED')
    const text = async () => `<div id="panel"><h2>Overview</h2><p>What happened in ${url}</p></div>`
    return { ok: true, url, text }
  })
  document.body.innerHTML = `${search}${results(['a', 'b', 'c'])}<aside id="preview" hidden></aside>`
  await runScript()
  const pane = page.find('#preview')
  const shown = () => [...document.querySelectorAll<HTMLElement>('.is-shown')].map(({ dataset }) => dataset.token)
  t.equal(page.press('ArrowDown'), false, 'the page does not scroll')
  page.press('ArrowDown')
  await page.pass(80)
  t.strictSame(requests, ['http://localhost/_profiler/b?panel=overview'], 'a row that is passed is not loaded')
  t.strictSame([pane.hidden, shown()], [false, ['b']])
  t.match(pane.textContent, /^bWhat happened/)
  t.equal(pane.querySelector('a')?.getAttribute('href'), 'http://localhost/_profiler/b')
  isBroken = true
  page.press('j')
  await page.pass(80)
  t.match([pane.hidden, pane.textContent], [false, /_profiler\/b/], 'the server restarts')
  page.press('Escape')
  t.strictSame([pane.hidden, shown()], [true, []])
  isWide = false
  page.press('k')
  await page.pass(80)
  t.equal(requests.length, 2, 'a narrow window has no room')
  t.equal(document.activeElement?.closest('tr')?.dataset.token, 'b')
})

t.test('without a compare bar, and without a stream, the list is still filtered', async t => {
  const page = openPage(t, '')
  const { requests } = await openList(page, [])
  document.body.innerHTML = `${search}<section id="results"></section>`
  await runScript()
  page.press('j')
  page.enter('[name="url"]', '/')
  await page.pass(200)
  t.equal(requests.length, 1)
})

t.test('j and k move from item to item of a panel, also where a line is a link', async t => {
  const page = openPage(
    t,
    `<ol class="items"><li class="item"><details><summary>One</summary><a href="#place">place</a></details></li>
    <li class="item"><div class="line">Two</div></li>
    <li class="item"><div class="line"><span class="item-text"><a href="#step">Three</a></span></div></li></ol>`,
  )
  await runScript()
  const path: (string | null | undefined)[] = []
  for (const key of ['j', 'j', 'j', 'k']) {
    page.press(key)
    path.push(document.activeElement?.textContent)
  }
  t.strictSame(path, ['One', 'Three', 'Three', 'One'])
})

t.test('the bars of the histogram have their times in the zone of the browser', async t => {
  openPage(
    t,
    `${search}<section id="results" data-live=""><div class="live"></div>
    <div class="histogram">
      <a href="?start=1000000000&end=1000000059"><title>01:46:40 to 01:47:40 UTC: 3 requests, 1 failed</title></a>
      <a href="?start=1000000060&end=1000000119"><title>01:47:40 to 01:48:40 UTC: 1 request</title></a>
    </div></section>`,
  )
  await runScript()
  const format = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' })
  const label = (first: number, last: number) => format.formatRange(new Date(first * 1000), new Date(last * 1000))
  const [first, second] = document.querySelectorAll('.histogram a')
  t.equal(first?.textContent, `${label(1_000_000_000, 1_000_000_059)}: 3 requests, 1 failed`)
  t.equal(second?.textContent, `${label(1_000_000_060, 1_000_000_119)}: 1 request`)
})
