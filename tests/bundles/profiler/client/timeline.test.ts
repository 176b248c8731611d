import fc from 'fast-check'
import { type Test, t } from 'tap'
import {
  createAxis,
  findStep,
  fitWindow,
  formatTick,
  isCompressed,
  listTicks,
  toMoment,
  toPosition,
  wholeWindow,
} from '#bundles/profiler/client/time-axis.ts'
import { openPage, type Page, runScript } from './page.ts'

const length = fc.integer({ min: 0, max: 10 ** 9 })

t.test('a position is the place of its moment, over the whole axis', async t => {
  const property = fc.property(length, length, fc.double({ min: 0, max: 1, noNaN: true }), (handled, more, share) => {
    const axis = createAxis(handled, handled + more)
    const moment = share * axis.end
    t.ok(Math.abs(toMoment(axis, toPosition(axis, moment)) - moment) <= 1e-6 * Math.max(1, axis.end))
    t.equal(toPosition(axis, 0), 0)
    t.ok(Math.abs(toPosition(axis, axis.end) - 100) < 1e-9)
    t.equal(isCompressed(axis), more > (handled + more) * 0.3)
    t.ok(axis.boundary >= 70)
  })
  fc.assert(property, { numRuns: 100 })
  t.strictSame(createAxis(0, 0), { handled: 1, end: 1, boundary: 100 }, 'nothing at all')
})

t.test('the ruler has round steps, and not too many, in any window', async t => {
  const position = fc.double({ min: 0, max: 100, noNaN: true })
  const property = fc.property(fc.integer({ min: 100, max: 10 ** 9 }), length, position, position, (...drawn) => {
    const [handled, more, one, other] = drawn
    const axis = createAxis(handled, handled + more)
    const window = fitWindow(axis, { from: Math.min(one, other), to: Math.max(one, other) })
    const ticks = listTicks(axis, window)
    const xs = ticks.map(({ x }) => x)
    const gaps = xs.slice(1).map((x, index) => x - Number(xs[index]))
    t.ok(ticks.length <= 8, `${ticks.length} lines`)
    t.ok(xs.every(x => x > -0.1 && x < 100.1) && gaps.every(gap => gap > 0))
    const labels = ticks.map(({ label }) => label).filter(Boolean)
    t.equal(new Set(labels).size, labels.length, labels.join())
  })
  fc.assert(property, { numRuns: 200 })
  t.strictSame([0.7, 1, 1.5, 3, 7, 70, 430].map(findStep), [1, 1, 2, 5, 10, 100, 500])
  t.strictSame(
    [
      formatTick(0, 10, 1),
      formatTick(200, 900, 100),
      formatTick(1500, 3000, 500),
      formatTick(200_000, 1e6, 1e5),
      formatTick(3e6, 4e6, 1e6),
      formatTick(1_200_500, 1_201_000, 100),
    ],
    ['0', '200 µs', '1.5 ms', '0.2 s', '3 s', '1.2005 s'],
  )
})

t.test('work long after the response has a part of the width, with its own scale', async t => {
  const axis = createAxis(1000, 101_000)
  const places = [500, 51_000, 101_000].map(moment => toPosition(axis, moment))
  t.strictSame([isCompressed(axis), axis.boundary, ...places], [true, 70, 35, 85, 100])
  t.strictSame(
    listTicks(axis, wholeWindow).map(({ label }) => label),
    ['0', '0.5 ms', ''],
  )
  t.match(listTicks(axis, { from: 70, to: 100 }).at(-2)?.label, / ms$/, 'the part itself')
})

t.test('a window stays on the axis, and is at least 10 µs long', async t => {
  const axis = createAxis(10_000, 10_000)
  t.strictSame(fitWindow(axis, { from: -5, to: 20 }), { from: 0, to: 25 })
  t.strictSame(fitWindow(axis, { from: 90, to: 130 }), { from: 60, to: 100 })
  const { from, to } = fitWindow(axis, { from: 50, to: 50 })
  t.ok(Math.abs(to - from - 0.1) < 1e-9)
  t.strictSame(fitWindow(createAxis(5, 5), { from: 10, to: 20 }), wholeWindow)
})

const line = (id: string, category: string, microseconds: number, x: number, extra = '') =>
  `<tr id="row-${id}" class="of-${category} ${extra}" data-us="${microseconds}"><th><a href="#${id}">${id}</a></th>` +
  `<td><svg><svg><rect x="${x}%" width="10%"></rect></svg></svg> 0 ms to 1 ms </td><td>${microseconds} µs</td>` +
  `<td>${extra === '' ? '1 µs' : ''}</td></tr>`

const lines = `${line('whole', 'whole', 500, 0, 'of-whole')}${line('short', 'event', 500, 10)}${line('long', 'event', 5000, 20)}${line('call', 'http', 1500, 80)}`

const timeline = (omitted = 0, rows = lines) => `
  <form id="timeline" action="http://localhost/_profiler/abc123"><input type="hidden" name="panel" value="time">
  <a data-zoom href="#" hidden>Whole request</a>
  <select name="threshold" data-fitting="1"><option value="">automatic</option><option value="0">0</option><option value="2">2</option></select>
  <button type="submit">Apply</button>
  <input type="hidden" name="from"><input type="hidden" name="to">
  <section class="slowest"><ol><li><a href="#row-short">short</a></li><li><a href="#row-call">call</a></li><li><a href="#row-gone">gone</a></li></ol></section>
  <p class="kinds"><label class="of-event"><input type="checkbox" name="show" value="event" checked>Listeners</label>
    <label class="of-http"><input type="checkbox" name="show" value="http" checked>HTTP client</label></p>
  <div class="chart" data-handled="10000" data-end="10000" data-boundary="100" data-omitted="${omitted}">
  <svg class="guides"><svg></svg><g class="ticks"></g></svg>
  <table><thead><tr><th></th><th class="axis"><svg><g class="ticks"></g><text class="end"></text></svg></th></tr></thead><tbody class="lanes">
    <tr class="of-log"><th>Warnings, errors</th><td><a href="#">mark</a></td></tr>
  </tbody><tbody class="lines">${rows}</tbody></table></div>
  <p class="timeline-detail" hidden></p><p><span data-hidden></span> <a id="all">Show all</a></p></form>`

async function open(t: Test, { html = timeline(), url = '' } = {}): Promise<Page & { readonly rows: () => string[] }> {
  const page = openPage(t, html, `http://localhost/_profiler/abc123?panel=time${url}`)
  for (const [name, value] of new URL(location.href).searchParams) {
    const field = document.querySelector<HTMLInputElement>(`input[type="hidden"][name="${name}"]`)
    if (field) field.value = value
  }
  const guides = document.querySelector('.guides')
  if (guides) guides.getBoundingClientRect = () => ({ left: 100, width: 1000 }) as DOMRect
  await runScript()
  const shown = () => [...document.querySelectorAll<HTMLElement>('.lines tr')].filter(row => !row.hidden)
  return { ...page, rows: () => shown().map(({ id }) => id.replace('row-', '')) }
}

const query = () => location.search.replace('?panel=time', '')

t.test('the timeline is filtered by threshold and layer; the URL follows, and hidden rows are counted', async t => {
  const page = await open(t)
  const note = () => [page.find('[data-hidden]').textContent, page.find('#all').hidden]
  t.equal(page.find('button[type="submit"]').hidden, true)
  t.strictSame(
    [page.rows(), note()],
    [
      ['whole', 'long', 'call'],
      ['1 of 4 rows are hidden.', false],
    ],
  )
  page.enter('select', '2')
  t.strictSame(page.rows(), ['whole', 'long'], 'the whole request is always there')
  t.strictSame(
    [...document.querySelectorAll<HTMLElement>('.slowest li')].map(({ hidden }) => hidden),
    [true, true, false],
  )
  page.enter('select', '0')
  t.strictSame(
    [page.rows(), note()],
    [
      ['whole', 'short', 'long', 'call'],
      ['', true],
    ],
  )
  page.find<HTMLInputElement>('[value="event"]').click()
  t.strictSame(page.rows(), ['whole', 'call'])
  await page.pass(200)
  t.equal(query(), '&threshold=0&show=http')
  page.find<HTMLInputElement>('[value="event"]').click()
  page.enter('select', '')
  await page.pass(200)
  t.equal(query(), '', 'the defaults are not in the URL')
})

t.test('the timeline is zoomed by keys and buttons', async t => {
  const page = await open(t)
  const [out, into] = [...document.querySelectorAll<HTMLButtonElement>('[aria-label^="Zoom"]')]
  const plot = () => ['x', 'width'].map(name => page.find('.lines svg svg').getAttribute(name)).join(' ')
  t.ok(page.press('ArrowRight'), 'without a zoom, the key belongs to the browser')
  into?.click()
  t.strictSame([plot(), page.find('[data-zoom]').hidden], ['-50% 200%', false])
  t.equal(page.find('.axis .ticks').textContent, '3 ms4 ms5 ms6 ms')
  t.equal(page.find('.axis .end').getAttribute('display'), 'none')
  t.notOk(page.press('+'))
  t.equal(plot(), '-150% 400%')
  t.notOk(page.press('ArrowLeft'))
  t.equal(plot(), '-130% 400%')
  t.strictSame(
    [...document.querySelectorAll('.is-outside')].map(({ id }) => id),
    ['row-whole', 'row-short', 'row-long', 'row-call'],
  )
  await page.pass(200)
  t.equal(query(), '&from=3.25&to=5.75')
  page.press('ArrowRight')
  page.press('=')
  page.press('-')
  out?.click()
  t.equal(plot(), '-50% 200%')
  page.press('0')
  t.equal(plot(), '0% 100%')
  await page.pass(200)
  t.equal(query(), '')
  t.equal(page.find('.axis .end').getAttribute('display'), 'inline')
  page.press('+', { ctrlKey: true })
  page.find('select').focus()
  page.press('+')
  page.press('0', {}, document.body)
  t.equal(plot(), '0% 100%', 'other keys, and keys of a control, do not zoom')
  into?.click()
  page.find('[data-zoom]').click()
  t.equal(plot(), '0% 100%')
})

/** Sends a pointer event at a position, in pixels. */
function point(selector: string, type: string, clientX: number, options: object = {}): boolean {
  const event = new MouseEvent(type, { clientX, bubbles: true, cancelable: true, ...options })
  return document.querySelector(selector)?.dispatchEvent(Object.assign(event, options)) ?? false
}

t.test('a part is selected by dragging, a click or a touch is none', async t => {
  const page = await open(t)
  const width = () => page.find('.lines svg svg').getAttribute('width')
  point('.lines td:nth-child(2)', 'pointerdown', 350)
  point('.lines td:nth-child(2)', 'pointermove', 352)
  t.equal(document.querySelector('.selection'), null)
  point('.lines td:nth-child(2)', 'pointerup', 352)
  t.equal(width(), null, 'a click')
  point('.lines td:nth-child(2)', 'pointerdown', 350)
  point('.lines td:nth-child(2)', 'pointermove', 850)
  t.equal(page.find('.selection').getAttribute('x'), '25%')
  t.equal(page.find('.selection').getAttribute('width'), '50%')
  point('.lines td:nth-child(2)', 'pointerup', 850)
  t.equal(width(), '200%')
  t.equal(document.querySelector('.selection'), null)
  const ignored: [string, object][] = [
    ['.lines th', {}],
    ['.lanes td a', {}],
    ['.axis', { pointerType: 'touch' }],
    ['.axis', { button: 1 }],
  ]
  for (const [selector, options] of ignored) {
    point(selector, 'pointerdown', 350, options)
    point(selector, 'pointerup', 850)
  }
  point('.axis', 'pointerdown', 350)
  point('.axis', 'pointercancel', 700)
  point('.axis', 'pointerup', 850)
  t.equal(width(), '200%')
})

t.test('the wheel zooms with Ctrl, where the pointer is; sideways it moves the part', async t => {
  const page = await open(t)
  const wheel = (options: object) => point('.lines td:nth-child(2)', 'wheel', 100, { deltaX: 0, deltaY: 0, ...options })
  const plot = () => ['x', 'width'].map(name => page.find('.lines svg svg').getAttribute(name)).join(' ')
  t.ok(wheel({ deltaY: -100 }), 'the page scrolls')
  t.ok(wheel({ deltaX: 100 }), 'there is nothing to move')
  t.notOk(wheel({ deltaY: -Math.log(2) / 0.002, ctrlKey: true }))
  t.match(plot(), /^-?0% 200/, 'the begin stays below the pointer')
  t.notOk(wheel({ deltaX: 500 }))
  t.match(plot(), /^-50(?:\.0+\d*)?% 200/)
  t.ok(point('.lines th', 'wheel', 100, { deltaX: 0, deltaY: -9, ctrlKey: true }), 'over a name')
})

t.test('a line shows the time below the pointer', async t => {
  const page = await open(t)
  point('.lines td:nth-child(2)', 'pointermove', 350)
  t.strictSame(
    [page.find('.guides .cursor').getAttribute('x1'), page.find('.axis .cursor').textContent],
    ['25%', '2.5 ms'],
  )
  point('.lines td:nth-child(2)', 'pointermove', 1000)
  t.equal(page.find('.axis .cursor').getAttribute('text-anchor'), 'end')
  point('.lines th', 'pointermove', 350)
  t.equal(document.querySelector('.cursor'), null)
  point('.axis', 'pointermove', 350)
  point('.chart', 'pointerleave', 0)
  t.equal(document.querySelector('.cursor'), null)
})

t.test('a shared URL shows the same part, and a link to a row shows it', async t => {
  const page = await open(t, { url: '&from=5&to=10#row-short' })
  t.strictSame(page.rows(), ['whole', 'short', 'long', 'call'], 'a row that is too short')
  t.equal(page.find('[data-zoom]').hidden, true, 'and was outside')
  const other = await open(t, { url: '&from=5&to=10' })
  t.equal(other.find('.lines svg svg').getAttribute('x'), '-100%')
  other.find('.slowest a[href="#row-call"]').click()
  t.equal(other.find('[data-zoom]').hidden, true, 'it was zoomed')
  other.find('.slowest a[href="#row-gone"]').click()
  other.find('.slowest').click()
})

t.test('rows that the page does not contain are loaded for the filter and the part', async t => {
  const page = await open(t, { html: timeline(7) })
  const asked: string[] = []
  const answer = (html: string) => async (url: string) => {
    asked.push(url.replace(/.*\?panel=time/, ''))
    return { ok: true, url, text: async () => html }
  }
  t.equal(page.find('[data-hidden]').textContent, '8 of 11 rows are hidden.')
  page.replace('fetch', answer(timeline(5, `${lines}${line('new', 'http', 9000, 40)}`)))
  page.find<HTMLElement>('#row-long a').focus()
  page.press('+')
  await page.pass(200)
  t.strictSame(asked, ['&from=2.5&to=7.5'])
  t.equal(page.find('[data-hidden]').textContent, '6 of 10 rows are hidden.')
  t.equal(page.find('#row-new svg svg').getAttribute('width'), '200%')
  t.equal(document.activeElement?.textContent, 'long', 'the focus stays')
  page.replace('fetch', async () => {
    throw new Error('The server restarts.')
  })
  page.press('0')
  await page.pass(200)
  t.ok(document.querySelector('#row-new'))
  page.replace('fetch', async (url: string) => {
    history.replaceState(null, '', '?panel=time&threshold=2')
    return answer('<p>nothing</p>')(url)
  })
  page.press('+')
  await page.pass(200)
  t.ok(document.querySelector('#row-new'), 'the timeline has changed meanwhile')
})

t.test('details of a row are shown, and arrow keys move between rows that are shown', async t => {
  const page = await open(t)
  const detail = page.find('.timeline-detail')
  page.find('.lanes').dispatchEvent(new Event('pointerover', { bubbles: true }))
  t.equal(detail.hidden, true)
  page.find('#row-long').dispatchEvent(new Event('pointerover', { bubbles: true }))
  t.strictSame([detail.hidden, detail.textContent], [false, 'long · Listeners · 0 ms to 1 ms · 5000 µs · own 1 µs'])
  page.find('#row-whole a').focus()
  page.find('#row-whole').dispatchEvent(new Event('focusin', { bubbles: true }))
  t.equal(detail.textContent, 'whole · 0 ms to 1 ms · 500 µs')
  const path: (string | null | undefined)[] = []
  for (const key of ['ArrowDown', 'ArrowDown', 'ArrowDown', 'ArrowUp', 'x']) {
    page.press(key)
    path.push(document.activeElement?.textContent)
  }
  t.strictSame(path, ['long', 'call', 'call', 'long', 'long'])
  document.querySelector<HTMLElement>('select')?.focus()
  t.ok(page.press('ArrowDown', {}, page.find('#row-call')), 'the focus is elsewhere')
})

t.test('a timeline without the parts that a script fills works nevertheless', async t => {
  const html = timeline()
    .replace(/<p class="timeline-detail".*/s, '</form>')
    .replace(/<input type="hidden" name="(?:from|to)">/g, '')
    .replace('<svg class="guides"><svg></svg><g class="ticks"></g></svg>', '')
    .replace('<svg><g class="ticks"></g><text class="end"></text></svg>', '')
    .replace('<a data-zoom href="#" hidden>Whole request</a>', '')
    .replace('<button type="submit">Apply</button>', '')
  const page = await open(t, { html })
  page.find('#row-long').dispatchEvent(new Event('pointerover', { bubbles: true }))
  page.press('+')
  point('.axis', 'pointermove', 350)
  t.equal(page.find('.lines svg svg').getAttribute('width'), '200%')
})
