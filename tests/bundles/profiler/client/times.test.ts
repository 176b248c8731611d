import { type Test, t } from 'tap'
import { createElement } from '#bundles/profiler/client/browser.ts'
import { openPage, type Page, runScript } from './page.ts'

/** Opens a page in a time zone. Node reads the variable again after each change. */
function openIn(t: Test, zone: string, body: string): Page {
  const { TZ } = process.env
  process.env.TZ = zone
  t.teardown(() => {
    if (TZ === undefined) delete process.env.TZ
    else process.env.TZ = TZ
  })
  return openPage(t, body)
}

const ago = (seconds: number) => new Date(Date.now() - 1000 * seconds).toISOString()

t.test('times are shown with their age, and stay up to date', async t => {
  const page = openPage(t, '')
  const now = Date.now()
  page.replace(
    'Date',
    class extends Date {
      static override now = () => now
    },
  )
  const times: readonly (readonly [seconds: number, age: string])[] = [
    [1, 'just now'],
    [30, '30 s ago'],
    [600, '10 min ago'],
    [7200, '2 h ago'],
    [200_000, '2 days ago'],
    [-86_400, 'in 24 h'],
  ]
  for (const [seconds] of times) {
    document.body.append(
      createElement('time', { datetime: ago(seconds), 'data-local': 'full' }),
      createElement(
        'time',
        { datetime: ago(seconds), 'data-local': '', class: 'row' },
        createElement('span', { class: 'day' }),
        createElement('span', { class: 'clock' }),
      ),
    )
  }
  await runScript()
  const full = [...document.querySelectorAll('time:not(.row)')].map(({ textContent }) => textContent)
  const rows = [...document.querySelectorAll('time.row')]
  for (const [index, [, age]] of times.entries()) t.match(full[index], new RegExp(`\\d{4}.*, ${age}$`), age)
  t.equal(rows[2]?.querySelector('.day')?.textContent, '10 min ago', 'within an hour a row shows the age')
  t.equal(rows[5]?.querySelector('.day')?.textContent, 'just now', 'a row is not later than now')
  t.match(rows[3]?.querySelector('.day')?.textContent, /^\d+ \w+ \d{4}$/, 'then it shows the date')
  t.match(rows[3]?.querySelector('.clock')?.textContent, /^\d\d:\d\d:\d\d$/)

  const show = (hidden: boolean) => Object.defineProperty(document, 'hidden', { value: hidden, configurable: true })
  const [first] = rows
  const day = first?.querySelector('.day')
  first?.setAttribute('datetime', ago(60))
  show(true)
  await page.pass(15_000)
  t.equal(day?.textContent, 'just now', 'nothing is updated while the page is hidden')
  show(false)
  await page.pass(15_000)
  t.equal(day?.textContent, '1 min ago')
})

t.test('a time is that of the zone of the browser, with the exact time as title', async t => {
  for (const [zone, text, title] of [
    ['UTC', /^21 Nov 2026, 23:30:07 UTC, /, '2026-11-21T23:30:07.042Z'],
    ['Asia/Kolkata', /^22 Nov 2026, 05:00:07 GMT\+5:30, /, '2026-11-22T05:00:07.042+05:30'],
    ['America/New_York', /^21 Nov 2026, 18:30:07 GMT-5, /, '2026-11-21T18:30:07.042-05:00'],
  ] as const) {
    await t.test(zone, async t => {
      const page = openIn(t, zone, '<time datetime="2026-11-21T23:30:07.042Z" data-local="full">23:30:07 UTC</time>')
      await runScript()
      t.match(page.find('time').textContent, text)
      t.equal(page.find('time').title, title)
    })
  }
})

t.test('a clock has milliseconds if the server writes them; a damaged time stays as it is', async t => {
  const page = openIn(
    t,
    'Asia/Tokyo',
    `<time id="log" datetime="2026-11-21T23:30:07.042Z" data-local="clock">23:30:07.042 UTC</time>
    <time id="until" datetime="2026-11-21T23:30:07.042Z" data-local="clock">23:30:07 UTC</time>
    <time id="damaged" datetime="" data-local="clock">?</time>`,
  )
  await runScript()
  await runScript()
  t.strictSame(
    ['#log', '#until', '#damaged'].map(id => page.find(id).textContent),
    ['08:30:07.042', '08:30:07', '?'],
  )
})

t.test('a field for a time is local, and is sent in UTC', async t => {
  const page = openIn(
    t,
    'Asia/Tokyo',
    `<form><label>From (<span data-zone>UTC</span>) <input type="datetime-local" name="start" value="2026-11-20T20:15"></label>
    <label>Until <input type="datetime-local" name="end" id="end"></label></form>`,
  )
  const sent = () => Object.fromEntries(new FormData(page.find<HTMLFormElement>('form')))
  await runScript()
  t.equal(page.find('[data-zone]').textContent, 'GMT+9')
  t.equal(page.find<HTMLInputElement>('input').value, '2026-11-21T05:15')
  t.strictSame(sent(), { start: '2026-11-20T20:15Z', end: '' })
  page.enter('#end', '2026-11-21T06:00:30')
  page.enter('input', '')
  t.strictSame(sent(), { start: '', end: '2026-11-20T21:00:30Z' })
})
