import { t } from 'tap'
import { createElement, recall, remember } from '#bundles/profiler/client/browser.ts'
import { chooseTheme, enableCopying, enableScrollers, findRow, setTheme } from '#bundles/profiler/client/controls.ts'
import { fetchPage } from '#bundles/profiler/client/page.ts'
import { openPage, runScript } from './page.ts'

t.test('an element has the attributes that are defined, and children of both kinds', async t => {
  openPage(t, '')
  const link = createElement('a', { href: '/x', title: undefined }, 'one ', createElement('b', {}, 'two'))
  t.equal(link.outerHTML, '<a href="/x">one <b>two</b></a>')
})

t.test('a fetched page has its URL after redirects; an error response is no page', async t => {
  const page = openPage(t, '')
  const respond = (ok: boolean) => async () => ({
    ok,
    status: 503,
    url: 'http://localhost/b',
    text: async () => '<p>hi',
  })
  page.replace('fetch', respond(true))
  const fetched = await fetchPage('/a')
  t.equal(fetched.url, 'http://localhost/b')
  t.equal(fetched.document.querySelector('p')?.textContent, 'hi')
  page.replace('fetch', respond(false))
  await t.rejects(fetchPage('/a'), { message: 'The server responded with 503.' })
})

t.test('a choice is stored for the next page; without storage there is none', async t => {
  const page = openPage(t, '')
  t.equal(recall('theme'), null)
  remember('theme', 'dark')
  t.equal(recall('theme'), 'dark')
  page.replace('localStorage', undefined)
  remember('theme', 'light')
  t.equal(recall('theme'), null)
})

t.test('the stored theme is applied, and a button changes it to the next one', async t => {
  const page = openPage(t, '<button data-theme-choice hidden><svg><use href="/icon.svg#system"/></svg></button>')
  const root = document.documentElement
  const button = page.find<HTMLButtonElement>('button')
  const shown = () => [button.title, button.getAttribute('aria-label'), page.find('use').getAttribute('href')]
  remember('theme', 'dark')
  chooseTheme(null)
  t.equal(root.dataset.theme, 'dark')
  t.equal(button.hidden, true, 'without scripts there is no button')
  chooseTheme(button)
  t.equal(button.hidden, false)
  t.strictSame(shown(), ['Theme: dark', 'Theme: dark', '/icon.svg#dark'])
  button.click()
  t.strictSame([root.dataset.theme, recall('theme')], [undefined, 'system'])
  t.strictSame(shown(), ['Theme: system', 'Theme: system', '/icon.svg#system'])
  button.click()
  t.strictSame([root.dataset.theme, recall('theme')], ['light', 'light'])
  button.click()
  t.strictSame([root.dataset.theme, recall('theme')], ['dark', 'dark'])
  setTheme('light')
  t.strictSame(shown(), ['Theme: light', 'Theme: light', '/icon.svg#light'])
})

t.test('a button copies the text of its element, and shows the result for a while', async t => {
  const page = openPage(
    t,
    '<pre id="code">curl x</pre><button data-copy="code" hidden>Copy</button><button data-copy="gone" hidden>Copy</button>' +
      '<button data-text="own" hidden>Copy prompt</button>',
  )
  const copied: string[] = []
  const [button, lost, own] = document.querySelectorAll<HTMLButtonElement>('button')
  page.replace('navigator', {
    clipboard: {
      writeText: async (text: string) => {
        if (copied.push(text) > 1) throw new Error('denied')
      },
    },
  })
  enableCopying(document)
  t.equal(button?.hidden, false)
  t.equal(lost?.hidden, true, 'there is nothing to copy')
  button?.click()
  await page.settle()
  t.strictSame([button?.textContent, copied], ['Copied', ['curl x']])
  await page.pass(1500)
  t.equal(button?.textContent, 'Copy')
  button?.click()
  await page.settle()
  t.equal(button?.textContent, 'Not allowed')
  own?.click()
  t.equal(copied.at(-1), 'own', 'a button may have its text')
})

t.test('a link to a row of another page leads to its page, once', async t => {
  const paging = '<ol><li id="log-1"></li></ol><nav data-rows="logs"></nav>'
  const addressOf = (search: string, body = paging) => {
    const page = openPage(t, body, `http://localhost/_profiler/abc?panel=logger${search}`)
    let address = ''
    page.replace('location', {
      hash: location.hash,
      href: location.href,
      replace: (url: URL) => {
        address = `${url.search}${url.hash}`
      },
    })
    findRow()
    return address
  }
  t.equal(addressOf('&logs=2#log-700'), '?panel=logger&logs=2&find=log-700#log-700')
  t.equal(addressOf('&find=log-700#log-700'), '', 'no page has it')
  t.equal(addressOf('#log-1'), '')
  t.equal(addressOf('#log-700', '<ol data-partial></ol>'), '?panel=logger&find=log-700#log-700', 'a filter hides it')
  t.equal(addressOf('#log-700', '<p></p>'), '', 'there is one page')
  t.equal(addressOf(''), '')
})

const bar = (name: string, row: number) => `<a href="#${name}"><svg y="${row}em"><title>${name}: 9 ms</title></svg></a>`

t.test('arrow keys move in the flame graph, which is one stop of the Tab key', async t => {
  const page = openPage(
    t,
    `<svg class="flame">${bar('all', 0)}${bar('first', 1)}${bar('second', 1)}${bar('inner', 2)}</svg><p class="flame-detail" hidden></p>`,
  )
  const detail = page.find('.flame-detail')
  const bars = [...document.querySelectorAll<HTMLElement>('a')]
  await runScript()
  const stops = () => bars.filter(({ tabIndex }) => tabIndex === 0).map(bar => bar.getAttribute('href'))
  t.strictSame(stops(), ['#all'])
  bars[0]?.focus()
  const path: (string | null)[] = []
  for (const key of [
    'ArrowDown',
    'ArrowRight',
    'ArrowDown',
    'ArrowDown',
    'ArrowUp',
    'ArrowLeft',
    'ArrowLeft',
    'ArrowUp',
    'ArrowUp',
    'x',
  ]) {
    page.press(key)
    path.push(detail.textContent)
  }
  const at = (name: string) => `${name}: 9 ms`
  t.strictSame(path, ['first', 'second', 'inner', 'inner', 'second', 'first', 'first', 'all', 'all', 'all'].map(at))
  t.equal(detail.hidden, false)
  t.ok(page.press('ArrowDown', { ctrlKey: true }), 'with a modifier a key is that of the browser')
  bars[3]?.dispatchEvent(new Event('pointerenter'))
  t.equal(detail.textContent, at('inner'))
  t.strictSame(stops(), ['#all'], 'the pointer does not move the focus')
})

t.test('a flame graph may be absent, empty, or have no line for details', async t => {
  const page = openPage(t, '')
  for (const html of ['', '<svg class="flame"></svg>', '<svg class="flame"><a href="#a"></a></svg>']) {
    document.body.innerHTML = html
    await runScript()
  }
  page.find('a').focus()
  t.equal(page.find('a').tabIndex, 0)
})

t.test('what scrolls and has nothing to focus can be reached with the Tab key', async t => {
  const page = openPage(
    t,
    `<main>
      <section id="text"><h2>Text</h2></section>
      <section><h3>Outer</h3><pre id="inner">x</pre></section>
      <section id="linked"><a href="#">link</a></section>
      <section id="fixed"></section>
      <pre id="lonely"></pre>
      <ol id="list"></ol>
      <pre id="own" tabindex="0"></pre>
    </main>`,
  )
  let observe: () => void = () => {}
  page.replace(
    'ResizeObserver',
    class {
      constructor(callback: () => void) {
        observe = callback
      }
      observe() {
        observe()
      }
    },
  )
  const scrolling = new Set(['text', 'inner', 'linked', 'lonely', 'list', 'fixed'])
  page.replace('getComputedStyle', ({ id }: HTMLElement) => ({
    overflowX: id === 'fixed' ? 'hidden' : 'auto',
    overflowY: id === 'fixed' ? 'hidden' : 'visible',
  }))
  for (const element of document.querySelectorAll<HTMLElement>('[id]')) {
    Object.defineProperty(element, 'scrollHeight', { get: () => (scrolling.has(element.id) ? 9 : 0) })
  }
  enableScrollers()
  const reached = () => [...document.querySelectorAll('[data-scroller][tabindex]')].map(({ id }) => id)
  t.strictSame(reached(), ['text', 'inner', 'lonely', 'list'])
  const roleOf = (id: string) => [
    page.find(`#${id}`).getAttribute('role'),
    page.find(`#${id}`).getAttribute('aria-label'),
  ]
  t.strictSame(roleOf('text'), ['group', 'Text'])
  t.strictSame(roleOf('inner'), ['group', 'Outer'])
  t.strictSame(roleOf('lonely'), ['group', 'Scrollable content'])
  t.strictSame(roleOf('list'), [null, null], 'a list stays a list')
  scrolling.delete('text')
  document.dispatchEvent(new Event('toggle'))
  t.strictSame(reached(), ['inner', 'lonely', 'list'], 'it no longer scrolls')
  t.equal(page.find('#own').tabIndex, 0)
})

const answers = (page: ReturnType<typeof openPage>, ...list: readonly object[]) => {
  const asked: string[] = []
  let count = 0
  page.replace('fetch', async (_url: string, { body }: { body: URLSearchParams }) => {
    asked.push(String(body))
    const answer = list[count++]
    if (answer === undefined) throw new Error('no answer')
    return { json: async () => answer }
  })
  return asked
}

t.test('a place opens by a click or a key; the server answers with the link of the chosen editor', async t => {
  const page = openPage(
    t,
    `<p><span class="place" data-at="3">a.ts:7</span></p>
     <p><span class="place" data-at="0">b.ts:7:1</span></p>
     <p><span class="place" data-at="c.ts:1:1">home</span></p>
     <p><span class="place">node:fs</span></p>
     <details><summary><span class="place" data-at="1">d.ts:1</span></summary></details>`,
  )
  await runScript()
  const places = [...document.querySelectorAll<HTMLElement>('.place')]
  t.strictSame(
    places.map(place => [place.getAttribute('role'), place.dataset.key]),
    [
      ['link', 'e'],
      ['link', 'e'],
      ['link', 'e'],
      [null, undefined],
      [null, undefined],
    ],
  )
  const asked = answers(page, { isOpened: true }, { isOpened: true }, { isOpened: true }, { isOpened: true })
  places[0]?.click()
  page.press('Enter', {}, places[1])
  page.press('x', {}, places[2])
  places[2]?.click()
  places[3]?.click()
  places[4]?.click()
  await page.settle()
  t.strictSame(
    asked.map(body => new URLSearchParams(body).get('at')),
    ['a.ts:7:3', 'b.ts:7:1', 'c.ts:1:1', 'd.ts:1:1'],
  )
})

t.test('a place that is added later is a link, too', async t => {
  const page = openPage(t, '<section></section>')
  await runScript()
  page.find('section').innerHTML = 'late <p><span class="place" data-at="3">a.ts:7</span></p>'
  await page.settle()
  const place = page.find('.place')
  t.strictSame([place.getAttribute('role'), place.tabIndex], ['link', 0])
  const asked = answers(page, { isOpened: true })
  place.click()
  await page.settle()
  t.equal(asked.length, 1)
})

t.test('without an editor the page asks for one, and keeps the choice', async t => {
  const page = openPage(t, '<p><span class="place" data-at="3">a.ts:7</span></p>')
  const copied: string[] = []
  const clipboard = { writeText: async (text: string) => void copied.push(text) }
  page.replace('navigator', { clipboard })
  await runScript()
  const editors = [{ name: 'zed', label: 'Zed', link: '#zed' }]
  const asked = answers(page, { reason: 'No editor runs.', editors }, { link: '#chosen' })
  // The simulated browser has no dialogs on top.
  const dialog = () => page.find<HTMLDialogElement>('dialog')
  page.find('.place').click()
  await page.settle()
  t.match(dialog().textContent, /Choose your editor.*a\.ts:7.*No editor runs\..*Zed/s)
  const [copy] = dialog().querySelectorAll('button')
  copy?.click()
  await page.settle()
  t.strictSame([copied, copy?.textContent], [['a.ts:7'], 'Copied'])
  await page.pass(1500)
  t.equal(copy?.textContent, 'Copy file and line')
  dialog().querySelector('a')?.click()
  t.equal(recall('editor'), 'zed')
  t.equal(document.querySelector('dialog'), null)
  page.find('.place').click()
  await page.settle()
  t.match(asked[1], 'editor=zed')
  t.equal(location.hash, '#chosen')
})

t.test('the place under the pointer can be copied, and opened in another editor', async t => {
  const page = openPage(t, '<p><span class="place" data-at="3">a.ts:7</span><a class="place" href="x:b">b.ts:1</a></p>')
  const writeText = () => Promise.reject(new Error('refused'))
  page.replace('navigator', { clipboard: { writeText } })
  await runScript()
  const place = page.find('.place')
  for (const type of ['pointerover', 'focusin']) place.dispatchEvent(new page.window.Event(type, { bubbles: true }))
  document.body.dispatchEvent(new page.window.Event('pointerover', { bubbles: true }))
  const [copy, change] = document.querySelectorAll<HTMLElement>('.place + .place-tools button')
  copy?.click()
  await page.settle()
  t.equal(copy?.textContent, 'Not allowed')
  remember('editor', 'zed')
  const asked = answers(page)
  change?.click()
  await page.settle()
  t.strictSame([recall('editor'), asked.length], ['', 1])
  t.match(page.find('dialog').textContent, /Not opened.*The server does not respond\./s)
  const buttons = document.querySelectorAll<HTMLElement>('dialog button')
  buttons[1]?.click()
  t.equal(document.querySelector('dialog'), null)
})

t.test('a page of files that cannot be used is loaded again when the server has another version', async t => {
  const page = openPage(t, '<main data-sources="a1" data-poll="/_profiler/broken"></main>')
  let reloads = 0
  page.replace('location', { hash: '', href: 'http://localhost/', reload: () => reloads++ })
  const versions: (string | null | undefined)[] = ['a1', undefined, null]
  page.replace('fetch', async () => {
    const version = versions.shift()
    if (version === undefined) throw new Error('restarting')
    return { headers: { get: () => version } }
  })
  await runScript()
  await page.pass(2000)
  t.equal(reloads, 0)
  const hide = (value: boolean) => Object.defineProperty(document, 'hidden', { value, configurable: true })
  hide(true)
  await page.pass(5000)
  t.equal(reloads, 0, 'a hidden page does not ask')
  hide(false)
  await page.pass(1000)
  t.equal(reloads, 1)
  await page.pass(5000)
  t.equal(reloads, 1)
})
