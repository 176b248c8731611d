import { t } from 'tap'
import { remember } from '#bundles/profiler/client/browser.ts'
import {
  enablePalette,
  findEntries,
  matchFuzzily,
  type PaletteEntry,
  rememberEntry,
} from '#bundles/profiler/client/palette.ts'
import { openPage, type Page } from './page.ts'

/** The text with the matching letters in capitals. */
const show = (query: string, text: string, labelLength?: number) => {
  const match = matchFuzzily(query, text, labelLength)
  if (match === undefined) return undefined
  return Array.from(text, (letter, index) => (match.positions.includes(index) ? letter.toUpperCase() : letter)).join('')
}

t.test('words match anywhere, letters in their order in the label', async t => {
  t.equal(show('', 'any'), 'any')
  t.equal(show('type', 'content-type'), 'content-TYPE')
  t.equal(show('TENT', 'content-type'), 'conTENT-type')
  t.equal(show('rr', 'request / response'), 'Request / Response')
  t.equal(show('cfg', 'configuration'), 'ConFiGuration')
  t.equal(show('type html', 'content-type text/html'), 'content-TYPE text/HTML')
  t.equal(show('html', 'content-type\ntext/html', 12), 'content-type\ntext/HTML')
  t.equal(show('txl', 'content-type\ntext/html', 12), undefined, 'letters apart match in the label only')
  t.equal(show('type json', 'content-type text/html'), undefined)
})

t.test('the beginning of a word, the label, and an early place count more', async t => {
  const scoreOf = (query: string, text: string, labelLength?: number) =>
    Number(matchFuzzily(query, text, labelLength)?.score)
  t.ok(scoreOf('log', 'logs') > scoreOf('log', 'catalog'))
  t.ok(scoreOf('log', 'catalog') > scoreOf('log', 'l o g'))
  t.ok(scoreOf('log', 'logs') > scoreOf('log', 'all logs'))
  t.ok(scoreOf('log', 'logs', 4) > scoreOf('log', 'any\nlogs', 3))
})

const entry = (group: string, label: string, more: Partial<PaletteEntry> = {}): PaletteEntry => ({
  group,
  label,
  link: `/${label}`,
  ...more,
})
const labels = (entries: readonly PaletteEntry[], query: string) =>
  findEntries(entries, query).map(({ entry }) => entry.label)

t.test('entries are found by label, hint and group; recent choices come first', async t => {
  openPage(t, '')
  const entries = [
    entry('Panel', 'Logs'),
    entry('Response header', 'content-type', { hint: 'text/html' }),
    entry('Route', 'blog', { hint: 'GET /blog' }),
    entry('Log message', 'Sent'),
  ]
  t.strictSame(labels(entries, ''), ['Logs', 'content-type', 'blog', 'Sent'])
  t.strictSame(labels(entries, 'log'), ['Logs', 'blog', 'Sent'])
  t.strictSame(findEntries(entries, 'html')[0], { entry: entries[1], label: [], hint: [5, 6, 7, 8] })
  t.strictSame(labels(entries, 'nothing'), [])
  t.equal(
    labels(
      Array.from({ length: 90 }, (_, index) => entry('Route', `r${index}`)),
      'r',
    ).length,
    50,
  )
  for (const { group, label } of entries) rememberEntry(entry(group, label, { link: '/of/another/profile' }))
  t.strictSame(labels(entries, ''), ['blog', 'Logs', 'content-type', 'Sent'], 'values of a profile are not remembered')
  rememberEntry(entry('Panel', 'Logs', { act: 'post' }))
  t.equal(labels(entries, '')[0], 'blog', 'an entry that changes something does not become the first')
  for (let index = 0; index < 9; index++) rememberEntry(entry('Page', `p${index}`))
  t.strictSame(labels([entry('Page', 'p0'), entry('Page', 'p8')], ''), ['p8', 'p0'])
  for (const damaged of ['{', '{}']) {
    remember('palette', damaged)
    t.strictSame(labels(entries, ''), ['Logs', 'content-type', 'blog', 'Sent'])
  }
})

interface Opened extends Page {
  readonly options: () => string[]
  readonly active: () => string | undefined
  readonly key: (key: string, options?: KeyboardEventInit) => Promise<boolean>
  readonly opened: string[]
}

async function open(t: Parameters<typeof openPage>[0], answer: unknown): Promise<Opened> {
  const page = openPage(t, '<button data-palette="/entries" hidden>Search</button><span data-theme-choice></span>')
  HTMLElement.prototype.scrollIntoView ??= () => undefined
  const opened: string[] = []
  const note = (verb: string, target: string, link: string | null) => opened.push([verb, link, target].join(' ').trim())
  // All simulated browsers have the same prototypes.
  const [anchors, forms] = [page.window.HTMLAnchorElement.prototype, page.window.HTMLFormElement.prototype]
  const { click } = anchors
  const { submit } = forms
  t.teardown(() => {
    anchors.click = click
    forms.submit = submit
  })
  anchors.click = function () {
    note('get', this.target, this.getAttribute('href'))
  }
  forms.submit = function () {
    note('post', this.target, this.getAttribute('action'))
  }
  page.replace('fetch', async (url: string) => {
    if (url === '/entries' && answer === undefined) return { ok: false, status: 503 }
    if (url === '/lost') throw new Error('lost')
    return { ok: true, json: async () => answer, text: async () => '#!/bin/sh\ncurl x' }
  })
  const button = page.find<HTMLButtonElement>('button')
  enablePalette(null)
  enablePalette(button)
  t.equal(button.hidden, false)
  t.equal(button.textContent, 'Search Ctrl K')
  button.click()
  await page.settle()
  const options = () => [...document.querySelectorAll('[role="option"]')].map(({ textContent }) => String(textContent))
  const active = () => {
    const id = document.querySelector('input')?.getAttribute('aria-activedescendant')
    const selected = [...document.querySelectorAll('[aria-selected="true"]')]
    t.strictSame(
      selected.map(({ id }) => id),
      id === null ? [] : [id],
    )
    return selected[0]?.querySelector('.palette-label')?.textContent ?? undefined
  }
  const key = async (key: string, options: KeyboardEventInit = {}) => {
    const isDefault = page.press(key, options, page.find('input'))
    await page.settle()
    return isDefault
  }
  return { ...page, options, active, key, opened }
}

const entries: readonly PaletteEntry[] = [
  entry('Panel', 'Logs'),
  entry('Panel', 'Events'),
  entry('Action', 'Pin', { act: 'post' }),
  entry('Action', 'Copy', { act: 'copy', link: '/export/curl' }),
  entry('Action', 'Copy lost', { act: 'copy', link: '/lost' }),
]

t.test('the palette opens what Enter chooses, in a new tab with Ctrl', async t => {
  const { active, enter, find, key, opened, options, settle } = await open(t, entries)
  t.equal(active(), 'Logs')
  t.equal(options().length, entries.length + 3, 'the themes are there, too')
  for (const [pressed, label] of [
    ['ArrowDown', 'Events'],
    ['ArrowUp', 'Logs'],
    ['ArrowUp', 'Theme: dark'],
    ['ArrowDown', 'Logs'],
    ['PageDown', 'Theme: dark'],
    ['PageUp', 'Logs'],
  ] as const) {
    t.notOk(await key(pressed))
    t.equal(active(), label, pressed)
  }
  t.ok(await key('Home'), 'other keys are those of the field')
  t.ok(await key('ArrowDown', { altKey: true }))
  t.ok(await key('ArrowDown', { ctrlKey: true }))
  enter('input', 'vts')
  t.strictSame(options(), ['EventsPanel'])
  t.equal(find('mark').textContent, 'v')
  await key('Enter')
  t.equal(document.querySelector('dialog'), null)
  find('button').click()
  await settle()
  await key('Enter', { ctrlKey: true })
  t.strictSame(opened, ['get /Events', 'get /Events _blank'])
  find('button').click()
  await key('k', { ctrlKey: true })
  t.equal(document.querySelector('dialog'), null)
})

t.test('without a match nothing can be chosen', async t => {
  const { active, enter, find, key, opened } = await open(t, entries)
  enter('input', 'xyz')
  t.equal(active(), undefined)
  t.equal(find('[role="status"]').textContent, 'No results')
  t.ok(await key('ArrowDown'))
  t.ok(await key('Enter'))
  t.strictSame(opened, [])
})

t.test('actions send a form, copy, or change the theme', async t => {
  const { enter, find, key, opened, pass, replace, settle } = await open(t, entries)
  const copied: string[] = []
  replace('navigator', { platform: '', clipboard: { writeText: async (text: string) => copied.push(text) } })
  const choose = async (query: string, options?: KeyboardEventInit) => {
    if (document.querySelector('dialog') === null) find('button').click()
    await settle()
    enter('input', query)
    await key('Enter', options)
  }
  await choose('pin')
  t.strictSame(opened, ['post /Pin'])
  await choose('pin', { metaKey: true })
  t.strictSame(opened, ['post /Pin', 'post /Pin _blank'])
  await choose('copy')
  t.strictSame(copied, ['curl x'])
  t.equal(find('[role="status"]').textContent, 'Copied')
  await pass(700)
  t.equal(document.querySelector('dialog'), null)
  await choose('lost')
  t.equal(find('[role="status"]').textContent, 'Not copied')
  await pass(700)
  await choose('dark')
  t.equal(document.documentElement.dataset.theme, 'dark')
  t.equal(opened.length, 2)
})

t.test('while a closed palette has the focus, keys are those of the page', async t => {
  const { enter, find, opened, press, settle } = await open(t, entries)
  // A browser reports the end of a dialog after keys that are waiting.
  const input = find('input')
  find('dialog').addEventListener('close', event => event.stopImmediatePropagation(), { capture: true })
  enter('input', 'dark')
  t.notOk(press('Enter', {}, input))
  t.ok(press('k', { ctrlKey: true }, input))
  t.ok(press('Enter', {}, input))
  await settle()
  t.strictSame(opened, [])
})

t.test('the pointer chooses as well, and a click beside the dialog closes it', async t => {
  const { find, opened, settle, window } = await open(t, entries)
  const click = async (type: string, init: MouseEventInit) => {
    if (document.querySelector('dialog') === null) find('button').click()
    await settle()
    find('[role="option"]').dispatchEvent(new window.MouseEvent(type, init))
    await settle()
  }
  await click('click', {})
  await click('click', { ctrlKey: true })
  await click('auxclick', { button: 1 })
  await click('auxclick', { button: 2 })
  t.strictSame(opened, ['get /Logs', 'get /Logs _blank', 'get /Logs _blank'])
  find('dialog').dispatchEvent(new window.MouseEvent('click'))
  t.equal(document.querySelector('dialog'), null)
})

t.test('a server that does not respond leaves the palette empty, and its status says so', async t => {
  const { find, options } = await open(t, undefined)
  t.equal(find('[role="status"]').textContent, 'The server does not respond.')
  t.strictSame(options(), [])
})
