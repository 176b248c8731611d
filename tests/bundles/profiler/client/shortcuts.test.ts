import { readdirSync, readFileSync } from 'node:fs'
import { t } from 'tap'
import { enableShortcuts, shortcuts } from '#bundles/profiler/client/shortcuts.ts'
import { openPage } from './page.ts'

t.test('no page has two shortcuts with one key', async t => {
  const keys = shortcuts.map(({ key }) => key)
  const repeated = keys.filter((key, index) => keys.indexOf(key) < index)
  t.strictSame(repeated, ['j', 'k', '↑ ↓'], 'lists and profiles are different pages, and the palette is a dialog')
})

t.test('the keys of elements are those of the table', async t => {
  const keysIn = (folder: string, pattern: RegExp) =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter(file => /\.(?:hbs|ts)$/.test(file))
      .flatMap(file => Array.from(readFileSync(`${folder}/${file}`, 'utf8').matchAll(pattern), ([, key]) => key))
  const used = [
    ...keysIn('templates/profiler', /data-key="([^"]+)"/g),
    ...keysIn('bundles/profiler/client', /dataset\.key = '(.+)'/g),
  ]
  const declared = shortcuts.filter(({ selector }) => selector === undefined).map(({ key }) => key)
  t.strictSame([...new Set(used)].sort(), [...new Set(declared)].sort())
})

t.test('a key clicks its element, or focuses it where one types', async t => {
  const page = openPage(
    t,
    `<input data-key="/" aria-label="Filter"><textarea data-key="p"></textarea><select data-key="l"></select>
    <button data-key="c">Copy</button><button data-key="d" disabled>Off</button><input type="checkbox" id="box">
    <button data-key="x">not in the table</button><button data-key="Mod+k">Search</button>
    <p contenteditable="true" id="editable"></p>`,
  )
  HTMLElement.prototype.checkVisibility ??= () => true
  const clicks: string[] = []
  document.addEventListener('click', ({ target }) => clicks.push((target as HTMLElement).textContent ?? ''))
  const blur = () => (document.activeElement as HTMLElement | null)?.blur()
  enableShortcuts(document)
  t.notOk(page.press('c'), 'the default action is prevented')
  t.strictSame(clicks, ['Copy'])
  t.ok(page.press('d'), 'a disabled button has no key')
  t.ok(page.press('x'))
  t.ok(page.press('c', { ctrlKey: true }))
  for (const [key, selector] of [
    ['/', 'input'],
    ['p', 'textarea'],
    ['l', 'select'],
  ] as const) {
    blur()
    page.press(key)
    t.equal(document.activeElement, page.find(selector), selector)
    t.ok(page.press('c'), 'in a field a key is text')
  }
  t.notOk(page.press('k', { ctrlKey: true }), 'with a modifier it is a shortcut there, too')
  t.notOk(page.press('k', { metaKey: true }))
  t.strictSame(clicks, ['Copy', 'Search', 'Search'])
  page.find('#box').focus()
  t.notOk(page.press('c'), 'a checkbox is no text field')
  blur()
  t.ok(page.press('c', {}, page.find('#editable')), 'nor is an element that is edited')
  t.ok(page.press('c', { altKey: true }))
  t.ok(document.dispatchEvent(new KeyboardEvent('keydown', { key: 'y' })), 'a key may have no element')
  document.addEventListener('keydown', event => event.preventDefault(), true)
  page.press('c')
  t.equal(clicks.length, 4, 'a listener before it may have used the key')
})

t.test('the question mark lists the shortcuts of the page, with the names of the table', async t => {
  const page = openPage(
    t,
    `<button data-key="Mod+k">Search</button><label>URL <input data-key="/"></label><a data-key="c">Copied</a><svg class="flame"></svg>`,
  )
  HTMLElement.prototype.checkVisibility ??= () => true
  enableShortcuts(document)
  const open = () => {
    page.press('?')
    const dialog = page.find<HTMLDialogElement>('dialog')
    const rows = [...dialog.querySelectorAll('dl > div')].map(row =>
      [...row.children].map(({ textContent }) => textContent?.trim()),
    )
    return { dialog, rows }
  }
  const { dialog, rows } = open()
  t.strictSame(rows, [
    ['Ctrl K', 'Search everything'],
    ['/', 'Filter'],
    ['c', 'Copy'],
    ['← ↑ → ↓', 'Move between frames'],
    ['?', 'Keyboard shortcuts'],
    ['Esc', 'Close'],
  ])
  t.equal(dialog.querySelector('h2')?.textContent, 'Keyboard shortcuts')
  const { querySelector } = document
  document.querySelector = (selector: string) =>
    selector === ':modal' ? dialog : querySelector.call(document, selector)
  t.ok(page.press('?'), 'a dialog has its own keys')
  document.querySelector = querySelector
  dialog.querySelector('button')?.click()
  t.equal(document.querySelector('dialog'), null)
  page.replace('navigator', { platform: 'MacIntel' })
  const again = open()
  t.strictSame(again.rows[0], ['⌘ K', 'Search everything'])
  again.dialog.querySelector('h2')?.click()
  t.ok(document.querySelector('dialog'), 'a click on the dialog does not close it')
  again.dialog.querySelector('dl')?.click()
  again.dialog.click()
  t.equal(document.querySelector('dialog'), null, 'a click beside it does')
})
