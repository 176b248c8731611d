import { t } from 'tap'
import { enableMenus, showCurrentTab } from '#bundles/profiler/client/controls.ts'
import { openPage } from './page.ts'

t.test('a menu closes with Escape, by a click elsewhere, and when the focus leaves it', async t => {
  const page = openPage(
    t,
    `<details data-menu><summary tabindex="0">Actions</summary><button id="inside">Pin</button></details>
    <details id="section"><summary>Section</summary></details><button id="outside">Other</button>`,
  )
  const menu = page.find<HTMLDetailsElement>('[data-menu]')
  const section = page.find<HTMLDetailsElement>('#section')
  enableMenus(document)
  const open = () => {
    menu.open = true
    section.open = true
    page.find('#inside').focus()
  }
  open()
  page.find('#inside').click()
  t.ok(menu.open, 'a click within it does not close it')
  page.press('x')
  t.ok(menu.open)
  page.press('Escape')
  t.notOk(menu.open)
  t.equal(document.activeElement, menu.querySelector('summary'))
  open()
  page.find('#outside').click()
  t.notOk(menu.open)
  open()
  page.find('#outside').focus()
  t.notOk(menu.open)
  menu.open = true
  page.press('Escape')
  t.notOk(menu.open)
  t.equal(document.activeElement, page.find('#outside'), 'the focus stays where it was')
  t.ok(section.open, 'other details stay open')
  open()
  document.dispatchEvent(new Event('click'))
  t.notOk(menu.open)
  open()
  document.addEventListener('keydown', event => event.preventDefault(), true)
  page.press('Escape')
  t.ok(menu.open, 'a listener before it may have used the key')
})

t.test('the current tab of a strip is in the middle, if it can be', async t => {
  const page = openPage(
    t,
    '<nav id="strip"><a>one</a><a aria-current="page">two</a></nav><nav id="none"><a>one</a></nav>',
  )
  const place = (selector: string, left: number, width: number) =>
    Object.defineProperty(page.find(selector), 'getBoundingClientRect', { value: () => ({ left, width }) })
  const strip = page.find('#strip')
  place('#strip', 10, 300)
  place('[aria-current]', 610, 100)
  showCurrentTab(strip)
  t.equal(strip.scrollLeft, 500)
  showCurrentTab(page.find('#none'))
  showCurrentTab(null)
  t.equal(page.find('#none').scrollLeft, 0)
})
