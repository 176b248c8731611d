import { t } from 'tap'
import { openPage, runScript } from './page.ts'

const shown = (selector: string) =>
  [...document.querySelectorAll<HTMLElement>(selector)].filter(({ hidden }) => !hidden).map(({ id }) => id)

t.test('rows are filtered by text and by choices, and the URL follows', async t => {
  const page = openPage(
    t,
    `<form action="/_profiler/abc123?old=1"><input type="hidden" name="panel" value="logger">
      <label><input type="radio" name="level" value="" data-filter="logs" checked></label>
      <label><input type="radio" name="level" value="warning" data-filter="logs"></label>
      <label id="label">Text <input name="text" data-filter="logs" id="text" hidden></label>
      <button>Filter</button></form>
    <table id="logs"><tbody>
      <tr id="a" data-level="debug info" data-channel="app"><td>The first</td></tr>
      <tr id="b" data-level="debug info warning" data-channel="app"><td>The second<table><tbody><tr id="inner"><td>x</td></tr></tbody></table></td></tr>
      <tr id="c" data-level="debug info warning" data-channel="kernel"><td>The FIRST of all</td></tr>
      <tr id="d"><td>notified</td></tr>
    </tbody></table><input data-filter="gone" hidden id="lost">`,
    'http://localhost/_profiler/latest?panel=logger',
  )
  await runScript()
  const rows = () => shown('#logs > tbody > tr')
  const status = () => page.find('.found').textContent
  t.ok(page.find('#lost').hidden, 'its rows are not on the page')
  t.equal(page.find('#text').hidden, false)
  t.equal(page.find('button').hidden, true)
  t.equal(page.find('#label').nextElementSibling, page.find('.found'), 'outside of the label')
  t.strictSame([rows(), status()], [['a', 'b', 'c', 'd'], ''])

  page.enter('#text', ' first ')
  t.strictSame([rows(), status()], [['a', 'c'], '2 of 4'])
  t.equal(location.href, 'http://localhost/_profiler/abc123?panel=logger&text=+first+')
  page.enter('#text', 'first of')
  t.strictSame(rows(), ['c'], 'all words occur')
  t.ok(page.press('x', {}, page.find('#text')))
  t.notOk(page.press('Escape', {}, page.find('#text')))
  t.strictSame(rows(), ['a', 'b', 'c', 'd'], 'Escape removes the text')
  t.ok(page.press('Escape', {}, page.find('#text')), 'in an empty field it is a key of the browser')

  const [, warning] = document.querySelectorAll<HTMLInputElement>('[name="level"]')
  if (warning) warning.checked = true
  warning?.dispatchEvent(new Event('input', { bubbles: true }))
  t.strictSame([rows(), status()], [['b', 'c'], '2 of 4'])
  if (warning) warning.checked = false
  warning?.dispatchEvent(new Event('input', { bubbles: true }))
  t.strictSame(rows(), ['a', 'b', 'c', 'd'])
  const submit = new Event('submit', { cancelable: true })
  page.find('form').dispatchEvent(submit)
  t.ok(submit.defaultPrevented, 'the form is not sent')
})

t.test('few rows have no filter', async t => {
  const listOf = (id: string, count: number) =>
    `<input data-filter="${id}" hidden><ul id="${id}">${'<li></li>'.repeat(count)}</ul>`
  openPage(t, listOf('few', 7) + listOf('many', 8))
  await runScript()
  t.strictSame(
    [...document.querySelectorAll<HTMLInputElement>('input:not([hidden])')].map(({ dataset }) => dataset.filter),
    ['many'],
  )
})

t.test('rows of several pages are filtered by the server', async t => {
  const page = openPage(
    t,
    '<form><input name="text" data-filter="rows" hidden><button>Filter</button></form><ul id="rows"></ul><nav data-rows="rows"></nav>',
  )
  await runScript()
  t.strictSame([page.find('input').hidden, page.find('button').hidden], [true, false])
})

t.test('a list is filtered too, closed details open for a match, and later rows are filtered', async t => {
  const page = openPage(
    t,
    `<input data-filter="routes" id="text" hidden>
    <div id="routes"><table><tbody><tr id="a"><td>one</td></tr></tbody></table>
      <details><summary>more</summary><details><table><tbody id="more"><tr id="b"><td>two</td></tr></tbody></table></details></details></div>
    <input data-filter="names" id="name" hidden><ul id="names"><li id="x">first</li><li id="y">second</li></ul>`,
  )
  await runScript()
  page.enter('#text', 'two')
  t.strictSame(shown('#routes tr'), ['b'])
  t.strictSame(
    [...document.querySelectorAll('details')].map(({ open }) => open),
    [true, true],
  )
  page.find('#more').insertAdjacentHTML('beforeend', '<tr id="c"><td>three</td></tr>')
  await page.settle()
  t.strictSame(shown('#routes tr'), ['b'])
  page.enter('#name', 'second')
  t.strictSame(shown('#names li'), ['y'])
})

t.test('the event tree shows what contains a text, what leads to it, and the listeners of a named event', async t => {
  const row = (id: string, name: string, inner = '') =>
    inner === ''
      ? `<li id="${id}"><div class="line"><span class="name">${name}</span></div></li>`
      : `<li id="${id}"><details><summary class="line"><span class="name">${name}</span></summary><ol>${inner}</ol></details></li>`
  const page = openPage(
    t,
    `<input data-tree-filter="tree" hidden><input data-tree-filter="gone" hidden id="lost">
    <ol id="tree">${row('e', 'kernel.request', row('l1', 'First') + row('l2', 'Second'))}${row('f', 'kernel.view')}</ol>`,
  )
  await runScript()
  t.ok(page.find('#lost').hidden)
  page.enter('input', 'second ')
  t.strictSame(shown('#tree li'), ['e', 'l2'])
  t.ok(page.find<HTMLDetailsElement>('details').open)
  page.enter('input', 'REQUEST')
  t.strictSame(shown('#tree li'), ['e', 'l1', 'l2'])
  page.enter('input', '')
  t.equal(shown('#tree li').length, 4)
})

t.test('the events of a sub-request are in its row, once it is unfolded', async t => {
  const node = (href: string) =>
    `<li><details><summary>sub</summary><p data-tree><a href="${href}">Events</a></p></details></li>`
  const page = openPage(
    t,
    `<input data-tree-filter="tree" hidden><ol id="tree">${node('/_profiler/bbb222?panel=events')}${node('/_profiler/ccc333')}</ol>`,
  )
  let requests = 0
  page.replace('fetch', async (url: string) => {
    requests++
    const tree = `<ol id="event-tree"><li id="span-1"><a href="?panel=request#header-x">x</a></li>${node('/_profiler/ddd444')}</ol>`
    return { ok: true, url, text: async () => (url.includes('bbb222') ? tree : '<p>no events</p>') }
  })
  await runScript()
  t.equal(requests, 0)
  const [first, other] = document.querySelectorAll('details')
  for (const _ of [1, 2]) first?.dispatchEvent(new Event('toggle'))
  await page.settle()
  t.equal(requests, 1)
  const inner = page.find('details > ol')
  t.equal(inner.querySelector('a')?.getAttribute('href'), 'http://localhost/_profiler/bbb222?panel=request#header-x')
  t.equal(inner.querySelector('[id]'), null, 'its ids are those of another page')
  inner.querySelector('details')?.dispatchEvent(new Event('toggle'))
  other?.dispatchEvent(new Event('toggle'))
  await page.settle()
  t.equal(requests, 3, 'its sub-requests open, too')
  t.match(other?.innerHTML, 'href="/_profiler/ccc333"', 'what cannot be loaded stays a link')
})
