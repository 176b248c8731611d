import { t } from 'tap'
import {
  Bar,
  type Call,
  CallList,
  CallsItem,
  ErrorsItem,
  findPageErrors,
  findPageToken,
  loadStyles,
  loadToolbar,
  type PageErrors,
} from '#bundles/profiler/client/toolbar-bar.ts'
import { openPage, type Page } from './page.ts'

/** A measured request of a page; an element of the page has caused it by default. */
interface Entry {
  readonly name: string
  readonly responseStatus?: number
  readonly initiatorType?: string
  readonly duration?: number
  readonly contentType?: string
  readonly encodedBodySize?: number
  readonly serverTiming?: readonly { readonly name: string; readonly description: string }[]
}

const profiled = (token: string) => [{ name: 'profile', description: token }]

/** Gives the browser's measurements to the observer. */
function replaceObserver(page: Page): (...entries: readonly Entry[]) => void {
  let report: (list: { getEntries(): readonly object[] }) => void = () => undefined
  page.replace(
    'PerformanceObserver',
    class {
      constructor(callback: typeof report) {
        report = callback
      }
      observe(options: object) {
        t.strictSame(options, { type: 'resource', buffered: true })
      }
    },
  )
  return (...entries) =>
    report({
      getEntries: () =>
        entries.map(entry => ({
          responseStatus: 200,
          initiatorType: 'img',
          duration: 5,
          encodedBodySize: 0,
          serverTiming: [],
          ...entry,
        })),
    })
}

t.test('calls of the page to its server are listed, and what has a profile', async t => {
  const page = openPage(t, '', 'http://localhost/shop')
  const measure = replaceObserver(page)
  const called: Call[] = []
  const list = new CallList(call => called.push(call))
  list.watch()
  measure(
    { name: 'http://localhost/api?x=1#part', initiatorType: 'fetch', serverTiming: profiled('abc123') },
    { name: 'http://localhost/a.css' },
    {
      name: 'http://localhost/photo',
      serverTiming: [...profiled('bcd234'), { name: 'profile', description: 'other' }],
    },
    { name: 'http://localhost/send', initiatorType: 'beacon', responseStatus: 0 },
    { name: 'http://localhost/odd', serverTiming: profiled('<b>') },
    { name: 'http://other/api', initiatorType: 'fetch' },
    { name: 'http://localhost/_profiler/live', initiatorType: 'fetch' },
    { name: 'http://localhost/_wdt/abc123', initiatorType: 'xmlhttprequest' },
    { name: 'http://localhost/favicon.ico', responseStatus: 404, serverTiming: profiled('cde345') },
    { name: 'http://localhost/.well-known/appspecific', responseStatus: 404, serverTiming: profiled('cde345') },
    { name: 'http://localhost/robots.txt', serverTiming: profiled('def456') },
  )
  t.strictSame(
    list.calls.map(({ url, status, token }) => [url, status, token]),
    [
      ['http://localhost/robots.txt', 200, 'def456'],
      ['http://localhost/send', 0, undefined],
      ['http://localhost/photo', 200, 'bcd234'],
      ['http://localhost/api?x=1', 200, 'abc123'],
    ],
    'the latest first, without those of the profiler and failed probes of browsers',
  )
  t.equal(called.length, 4)
  measure(...Array.from({ length: 150 }, (_, index) => ({ name: `http://localhost/${index}`, initiatorType: 'fetch' })))
  t.equal(list.calls.length, 100)
  t.equal(list.calls[0]?.url, 'http://localhost/149')
  list.clear()
  t.strictSame(list.calls, [])
})

t.test('the call that has loaded a page is that of its URL, or a later one of its path', async t => {
  const page = openPage(t, '', 'http://localhost/shop')
  const measure = replaceObserver(page)
  const list = new CallList(() => undefined)
  list.watch()
  const add = (name: string, token?: string) =>
    measure({ name, initiatorType: 'fetch', ...(token !== undefined && { serverTiming: profiled(token) }) })
  const find = (url: string, last?: Call) => list.findPage(url, last)?.token
  add('http://localhost/list?page=1', 'aaaaa1')
  const [last] = list.calls
  add('http://localhost/list?page=2')
  t.equal(find('http://localhost/list?page=1', last), 'aaaaa1')
  t.equal(find('http://localhost/list?page=2', last), undefined, 'an earlier call has loaded the page before')
  add('http://localhost/list?page=2&part=body', 'aaaaa2')
  t.equal(find('http://localhost/list?page=2', last), 'aaaaa2')
  t.equal(find('http://localhost/list'), 'aaaaa2')
  t.equal(find('http://localhost/other'), undefined)
})

t.test('the response of a page names its profile', async t => {
  const page = openPage(t, '')
  const find = (...entries: readonly object[]) => {
    page.replace('performance', { getEntriesByType: () => entries })
    return findPageToken()
  }
  t.equal(find({ serverTiming: profiled('abc123') }), 'abc123')
  t.equal(find({}), undefined, 'not in a secure context')
  t.equal(find(), undefined)
})

t.test('the toolbar lists calls with method, type, size and time, and links to their profiles', async t => {
  const page = openPage(t, '', 'http://localhost/shop')
  const measure = replaceObserver(page)
  const list = new CallList(() => item.update())
  const item = new CallsItem(list, () => {
    list.clear()
    item.update()
  })
  list.watch()
  t.equal(item.element.hidden, true)
  const call = { initiatorType: 'fetch', duration: 9.94, contentType: 'application/problem+json; charset=utf-8' }
  measure({ ...call, name: 'http://localhost/a?b=1', encodedBodySize: 2048, serverTiming: profiled('abc123') })
  const text = () => item.element.querySelector('.toolbar-text')?.textContent
  t.strictSame([item.element.hidden, text(), item.failures], [false, '1 request', 0])
  measure(
    { name: 'http://localhost/b', initiatorType: 'fetch', duration: 1234.5, responseStatus: 500 },
    { name: 'http://localhost/c', initiatorType: 'fetch', responseStatus: 0 },
    ...['abc124', 'abc125'].map(token => ({
      ...{ name: 'http://localhost/a?b=1', initiatorType: 'xmlhttprequest', encodedBodySize: 12 },
      serverTiming: [...profiled(token), { name: 'method', description: 'POST' }],
    })),
  )
  t.strictSame([text(), item.failures], ['5 requests, 1 failed', 1])
  t.ok(item.element.querySelector('button')?.classList.contains('toolbar-link-error'))
  const rows = [...item.element.querySelectorAll('tbody tr')]
  t.strictSame(
    rows.map(row => [row.className, ...[...row.children].map(cell => cell.textContent)]),
    [
      ['', '200', 'POST', '/a?b=1 × 2', 'xmlhttprequest', '12 B', '5.0 ms'],
      ['', '–', '–', '/c', 'fetch', '–', '5.0 ms'],
      ['toolbar-row-error', '500', '–', '/b', 'fetch', '–', '1235 ms'],
      ['', '200', 'GET', '/a?b=1', 'json', '2.0 KiB', '9.9 ms'],
    ],
    'calls with one method and URL are one row',
  )
  t.equal(rows[0]?.querySelector('a')?.getAttribute('href'), '/_profiler/abc125', 'the latest')
  t.equal(rows[3]?.querySelector('a')?.getAttribute('href'), '/_profiler/abc123')
  t.equal(rows[2]?.querySelector('a'), null)
  item.element.querySelector<HTMLElement>('.toolbar-button')?.click()
  t.equal(item.element.hidden, true)
})

/**
 * Answers requests for the toolbar with these statuses, the last one for ever; 0 is no response,
 * -200 one without a document.
 */
function replaceRequests(page: Page, ...statuses: readonly number[]) {
  const made: string[] = []
  page.replace(
    'XMLHttpRequest',
    class {
      responseXML: Document | null = null
      status = 0
      #path = ''
      #listener: () => void = () => undefined
      open(method: string, path: string) {
        this.#path = `${method} ${path}`
      }
      addEventListener(_: string, listener: () => void) {
        this.#listener = listener
      }
      send() {
        this.status = statuses[Math.min(made.push(this.#path), statuses.length) - 1] ?? 0
        const html = this.status === 200 ? '<section class="toolbar">bar</section>' : '<p>other</p>'
        if (this.status > 0) this.responseXML = new DOMParser().parseFromString(html, 'text/html')
        this.status = Math.abs(this.status)
        this.#listener()
      }
    },
  )
  return made
}

t.test('the toolbar is loaded again while the server restarts, and not for ever', async t => {
  const page = openPage(t, '')
  const load = async (statuses: readonly number[], isWanted = () => true) => {
    const made = replaceRequests(page, ...statuses)
    const loading = loadToolbar('/_wdt/abc123', isWanted)
    await page.pass(60_000)
    return [(await loading)?.textContent, made.length]
  }
  t.strictSame(await load([200]), ['bar', 1])
  t.strictSame(await load([0, 503, 200]), ['bar', 3])
  t.strictSame(await load([0]), [undefined, 9])
  t.strictSame(await load([404]), [undefined, 3], 'the profile was not stored')
  t.strictSame(await load([-200, 200]), ['bar', 2])
  t.strictSame(await load([200], () => false), [undefined, 0])
  let isWanted = true
  t.strictSame(
    await load([0], () => {
      const was = isWanted
      isWanted = false
      return was
    }),
    [undefined, 1],
  )
})

t.test('lengths of the stylesheet do not depend on the font size of the page', async t => {
  const page = openPage(t, '')
  let text = ''
  page.replace(
    'CSSStyleSheet',
    class {
      async replace(css: string) {
        text = css
      }
    },
  )
  page.replace('fetch', async () => ({ text: async () => 'a { margin: 1.5rem -.25rem; --x: 2remote }' }))
  await loadStyles('/_profiler/assets/x/profiler.css')
  t.equal(text, 'a { margin: 24px -4px; --x: 2remote }')
})

const section = (data: string) => {
  const template = document.createElement('template')
  template.innerHTML = `<section class="toolbar" ${data}><ul class="toolbar-items"><li class="toolbar-item toolbar-minor" id="first"><a class="toolbar-link" href="#">1</a>
    <div class="toolbar-details"><a href="#" id="detail">d</a></div></li><li class="toolbar-item" id="last"><a class="toolbar-link" href="#">2</a></li></ul></section>`
  return template.content.querySelector<HTMLElement>('section') as HTMLElement
}

/** Opens a page with a toolbar: its host, and a finder in its shadow. */
function openBar(page: Page, isAutomated = false) {
  page.replace('navigator', { webdriver: isAutomated })
  const bar = new Bar(new CSSStyleSheet(), [document.createElement('li')])
  const host = () => document.querySelector('profiler-toolbar')
  const find = (selector: string) => host()?.shadowRoot?.querySelector<HTMLElement>(selector)
  return { bar, host, find }
}

const shortcut = { altKey: true, shiftKey: true, code: 'KeyP' }

t.test('the toolbar is beside the body, and comes back when it is removed', async t => {
  const page = openPage(t, '<p>The page</p>')
  const { bar, host, find } = openBar(page)
  bar.showFailures(1, 0)
  t.equal(host(), null, 'without a profile there is nothing to show')
  bar.show(section('data-status="200"'))
  t.equal(host()?.parentElement, document.documentElement)
  t.strictSame(
    [...(find('ul')?.children ?? [])].map(({ id }) => id),
    ['first', '', 'last'],
    'the extra item comes before the last one',
  )
  host()?.remove()
  await page.settle()
  t.ok(host())
  for (let removal = 0; removal < 60; removal++) {
    host()?.remove()
    await page.settle()
  }
  t.equal(host(), null, 'a page that always removes it wants none')
  bar.show(section(''))
  t.ok(host())
})

t.test('the toolbar is marked while its items do not fit', async t => {
  const page = openPage(t, '')
  const { bar, find } = openBar(page)
  bar.show(section(''))
  const isTight = () => find('.toolbar-frame')?.hasAttribute('data-tight')
  t.equal(isTight(), false)
  const last = find('#last') as HTMLElement
  last.getBoundingClientRect = () => ({ right: 12 }) as DOMRect
  window.dispatchEvent(new Event('resize'))
  t.equal(isTight(), true)
  t.ok(find('#first')?.hasAttribute('data-left-out'), 'a minor item is left out')
  last.getBoundingClientRect = () => ({ right: 0 }) as DOMRect
  bar.showFailures(1, 0)
  t.equal(isTight(), false)
  t.notOk(find('#first')?.hasAttribute('data-left-out'))
})

t.test('the toolbar folds by its button and by keys, and stays so on the next page', async t => {
  const page = openPage(t, '<input id="field">')
  const { bar, find, host } = openBar(page)
  bar.show(section('data-status="500" data-tone="error" data-trouble="TypeError" data-sentence="It failed."'))
  bar.showFailures(2, 1)
  const toggle = () => find('.toolbar-toggle')
  t.strictSame([toggle()?.textContent, toggle()?.getAttribute('aria-expanded')], ['Hide the profiler toolbar', 'true'])
  t.equal(toggle()?.getAttribute('title'), 'Hide the profiler toolbar (Alt+Shift+P)')
  toggle()?.click()
  t.equal(toggle()?.textContent, 'Show the profiler toolbar 500 TypeError 1 browser error 2 failed requests')
  t.equal(toggle()?.getAttribute('title'), 'It failed.\nShow the profiler toolbar (Alt+Shift+P)')
  t.strictSame(
    [find('section')?.hidden, host()?.hasAttribute('data-folded'), localStorage.getItem('profiler-toolbar')],
    [true, true, 'folded'],
  )
  bar.showFailures(1, 0)
  t.equal(toggle()?.textContent, 'Show the profiler toolbar 500 TypeError 1 failed request')
  bar.showFailures(0, 2)
  t.equal(toggle()?.textContent, 'Show the profiler toolbar 500 TypeError 2 browser errors')
  page.find('#field').focus()
  t.ok(page.press('p', { ...shortcut, ctrlKey: true }))
  t.ok(page.press('x', { ...shortcut, code: 'KeyX' }))
  t.notOk(page.press('p', shortcut))
  t.strictSame([find('section')?.hidden, localStorage.getItem('profiler-toolbar')], [false, 'open'])
  t.equal(host()?.shadowRoot?.activeElement?.className ?? 'toolbar-link', 'toolbar-link', 'the toolbar has the focus')
  page.press('p', shortcut)
  t.equal(document.activeElement, page.find('#field'), 'the focus goes back')
  bar.show(section(''))
  bar.showFailures(0, 0)
  t.equal(toggle()?.textContent, 'Show the profiler toolbar ', 'a page without a profile has no status')
  t.equal(toggle()?.getAttribute('title'), 'Show the profiler toolbar (Alt+Shift+P)', 'nor a sentence')
  host()?.remove()
  const next = new Bar(new CSSStyleSheet(), [document.createElement('li')])
  next.show(section(''))
  t.equal(find('section')?.hidden, true)
})

t.test('a place in the details opens in the editor; the choice of one is above the page', async t => {
  const page = openPage(t, '')
  const { bar, find } = openBar(page)
  bar.show(section(''))
  const details = find('.toolbar-details')
  if (details) details.innerHTML = '<span class="place" data-at="a.ts:7:1">a.ts:7</span>'
  await page.settle()
  const asked: string[] = []
  page.replace('fetch', async (url: string, { body }: RequestInit) => {
    asked.push(`${url}?${body}`)
    return { json: async () => ({ reason: 'No editor runs.', editors: [] }) }
  })
  t.equal(find('.place')?.getAttribute('role'), 'link')
  find('.place')?.click()
  await page.settle()
  t.match(asked, ['/_profiler/open-editor?at=a.ts%3A7%3A1&editor='])
  t.match(find('dialog')?.textContent, 'No editor runs.')
})

t.test('by default the toolbar is folded for automated browsers', async t => {
  const page = openPage(t, '')
  const { bar, find } = openBar(page, true)
  bar.show(section(''))
  t.equal(find('section')?.hidden, true)
  page.press('p', shortcut)
  page.press('p', shortcut)
  t.equal(find('section')?.hidden, true)
})

t.test('details stay within the page, and Escape hides them until the item is left', async t => {
  const page = openPage(t, '')
  const { bar, find } = openBar(page)
  bar.show(section(''))
  const first = find('#first')
  const details = find('.toolbar-details')
  const emit = (selector: string, type: string, relatedTarget: EventTarget | null = null) =>
    find(selector)?.dispatchEvent(Object.assign(new Event(type, { bubbles: true }), { relatedTarget }))
  let right = 500
  if (details) details.getBoundingClientRect = () => ({ right }) as DOMRect
  Object.defineProperty(document.documentElement, 'clientWidth', { value: 600, configurable: true })
  emit('#first a', 'pointerover')
  t.equal(details?.style.translate, 'none')
  right = 700.4
  emit('#first a', 'focusin')
  t.equal(details?.style.translate, '-109px')
  right = 500
  emit('#detail', 'pointerover')
  t.equal(details?.style.translate, '-109px', 'they do not move below the pointer')
  emit('#last a', 'pointerover')
  emit('section', 'pointerover')

  const frame = find('.toolbar-frame')
  if (frame && first) {
    const querySelectorAll = frame.querySelectorAll.bind(frame)
    frame.querySelectorAll = ((selector: string) =>
      selector.includes(':hover') ? [first] : querySelectorAll(selector)) as typeof frame.querySelectorAll
  }
  page.press('Escape')
  const isDismissed = () => first?.hasAttribute('data-dismissed')
  t.ok(isDismissed())
  emit('#first a', 'pointerout', find('#detail'))
  t.ok(isDismissed(), 'the pointer is still in the item')
  emit('section', 'focusout')
  t.ok(isDismissed())
  emit('#first a', 'focusout', find('#last'))
  t.notOk(isDismissed())
})

t.test('the toolbar lists the errors of the page, with links to its profile', async t => {
  const page = openPage(t, '', 'http://localhost/shop')
  t.equal(findPageErrors(), undefined, 'without the script that collects them there are none')
  const errors: PageErrors = { list: [] }
  Object.assign(page.window, { [Symbol.for('profiler.page-errors')]: errors })
  t.equal(findPageErrors(), errors)
  const item = new ErrorsItem(errors)
  item.update('/_profiler/abc123')
  t.strictSame([item.element.hidden, item.count], [true, 0])
  errors.list.push({ kind: 'exception', message: 'TypeError: x', file: 'http://localhost/assets/a.js', line: 3 })
  item.update('/_profiler/abc123')
  const text = () => item.element.querySelector('.toolbar-text')?.textContent
  t.strictSame([item.element.hidden, text()], [false, '1 browser error'])
  for (let more = 0; more < 9; more++)
    errors.list.push({ kind: 'console', message: 'm'.repeat(500), file: 'http://other/b.js' })
  errors.list.splice(2, 1, { kind: 'rejection', message: 'No.' })
  item.update('/_profiler/abc123')
  t.equal(text(), '10 browser errors')
  const rows = [...item.element.querySelectorAll('.toolbar-row')]
  t.equal(rows.length, 5)
  t.strictSame(
    [...(rows[0]?.children ?? [])].map(({ textContent }) => textContent),
    ['exception', 'TypeError: x · /assets/a.js:3'],
  )
  t.equal(rows[2]?.lastElementChild?.textContent, 'No.')
  t.equal(rows[1]?.lastElementChild?.textContent, `${'m'.repeat(200)} · http://other/b.js`)
  t.equal(rows[1]?.querySelector('a')?.getAttribute('href'), '/_profiler/abc123?panel=browser#browser-error-1')
  t.equal(item.element.querySelector('a')?.getAttribute('href'), '/_profiler/abc123?panel=browser')
})
