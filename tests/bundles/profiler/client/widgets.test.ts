import { t } from 'tap'
import { createElement, fetchPage, recall, remember } from '#bundles/profiler/client/browser.ts'
import { enableCopying } from '#bundles/profiler/client/copy.ts'
import { enableFlameGraph } from '#bundles/profiler/client/flame.ts'
import { enableScrollers } from '#bundles/profiler/client/scrollers.ts'
import { chooseTheme } from '#bundles/profiler/client/theme.ts'
import { openPage } from './page.ts'

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

t.test('the stored theme is applied, and can be changed', async t => {
  const page = openPage(t, '<span id="place"></span>')
  const root = document.documentElement
  remember('theme', 'dark')
  chooseTheme(null)
  t.equal(root.dataset.theme, 'dark')
  chooseTheme(page.find('#place'))
  t.equal(page.find<HTMLSelectElement>('select').value, 'dark')
  page.enter('select', 'light')
  t.strictSame([root.dataset.theme, recall('theme')], ['light', 'light'])
  page.enter('select', 'system')
  t.equal(root.dataset.theme, undefined)
})

t.test('without a stored theme that of the system is selected', async t => {
  const page = openPage(t, '<span id="place"></span>')
  chooseTheme(page.find('#place'))
  t.equal(page.find<HTMLSelectElement>('select').value, 'system')
})

t.test('a button copies the text of its element, and shows the result for a while', async t => {
  const page = openPage(
    t,
    '<pre id="code">curl x</pre><button data-copy="code" hidden>Copy</button><button data-copy="gone" hidden>Copy</button>',
  )
  const copied: string[] = []
  const [button, lost] = document.querySelectorAll<HTMLButtonElement>('button')
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
})

const bar = (name: string, parent: number) =>
  `<a href="#${name}" aria-label="${name}: 9 ms" data-parent="${parent}"></a>`

t.test('arrow keys move in the flame graph, which is one stop of the Tab key', async t => {
  const page = openPage(
    t,
    `<svg class="flame">${bar('all', -1)}${bar('first', 0)}${bar('second', 0)}${bar('inner', 2)}</svg><p class="flame-detail" hidden></p>`,
  )
  const detail = page.find('.flame-detail')
  const bars = [...document.querySelectorAll<HTMLElement>('a')]
  enableFlameGraph(document.querySelector('svg'))
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
  const page = openPage(t, '<svg id="empty"></svg><svg id="one"><a href="#a" data-parent="-1"></a></svg>')
  enableFlameGraph(null)
  enableFlameGraph(document.querySelector('#empty'))
  enableFlameGraph(document.querySelector('#one'))
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
  t.strictSame(roleOf('text'), ['region', 'Text'])
  t.strictSame(roleOf('inner'), ['region', 'Outer'])
  t.strictSame(roleOf('lonely'), ['region', 'Scrollable content'])
  t.strictSame(roleOf('list'), [null, null], 'a list stays a list')
  scrolling.delete('text')
  document.dispatchEvent(new Event('toggle'))
  t.strictSame(reached(), ['inner', 'lonely', 'list'], 'it no longer scrolls')
  t.equal(page.find('#own').tabIndex, 0)
})
