import { t } from 'tap'
import { openPage, type Page, runScript } from './page.ts'

const leaf = (name: string, kind: string, text: string) =>
  `<li><span class="value-name">${name}</span>: <span class="value-${kind}">${text}</span></li>`

const tree = (text: string, rows: string, isOpen = false) =>
  `<details class="value-tree"${isOpen ? ' open' : ''}><summary><span class="value-object">${text}</span></summary><ul>${rows}</ul></details>`

const long =
  '<details class="value-long"><summary><span class="value-text">"lo …</span></summary><pre class="value-text">"long text"</pre></details>'
const list = tree(
  'Array(3)',
  `${leaf('0', 'value', '7')}${leaf('1', 'object', '[]')}<li><details class="value-group"><summary>50 … 50</summary><ul>${leaf('50', 'note', '******')}</ul></details></li>`,
)
const small = `<li id="first"><span class="value-name">first name</span>: <span class="value-text">"Ada"</span></li>
<li id="list"><span class="value-name">list</span>: ${list}</li>
<li id="outer"><span class="value-name">outer</span>: ${tree('Object', leaf('inner', 'value', 'true'))}</li>
<li id="long"><span class="value-name">long</span>: ${long}</li>
<li><details class="value-source"><summary>1 more, as text</summary><pre>{"more": true}</pre></details></li>`
const many = Array.from({ length: 12 }, (_, index) => leaf(`n${index}`, 'value', 'null')).join('')

async function open(t: Parameters<typeof openPage>[0], rows: string): Promise<Page & { readonly copied: string[] }> {
  const page = openPage(
    t,
    `<div class="values">${tree('Object', rows, true)}</div><div class="values"><span class="value-text">""</span></div>`,
  )
  const copied: string[] = []
  Object.defineProperty(navigator, 'clipboard', {
    value: { writeText: async (text: string) => void copied.push(text) },
    configurable: true,
  })
  await runScript()
  return { ...page, copied }
}

t.test('a row copies its value and its path', async t => {
  const { copied, find, window } = await open(t, small)
  const copy = (selector: string) => {
    find(selector).dispatchEvent(new window.Event('pointerover', { bubbles: true }))
    const row = find(selector)
    const buttons = [...document.querySelectorAll<HTMLElement>('.value-actions button')]
    t.equal(buttons[0]?.closest('li'), row.closest('li'))
    for (const button of buttons) button.click()
    return copied.splice(0)
  }
  t.strictSame(copy('#first'), ['Ada', '["first name"]'])
  t.strictSame(copy('#long'), ['long text', 'long'])
  t.strictSame(copy('#list'), ['[\n  7,\n  [],\n  "******"\n]', 'list'])
  t.strictSame(copy('#outer .value-tree li'), ['true', 'outer.inner'])
  t.strictSame(copy('.value-group li'), ['******', 'list[50]'])
  t.strictSame(copy('#list .value-tree li'), ['7', 'list[0]'])
  find('#list .value-group > summary').dispatchEvent(new window.Event('pointerover', { bubbles: true }))
  t.equal(document.querySelector('.value-actions')?.closest('li')?.querySelector('.value-name')?.textContent, '0')
})

t.test('arrow keys move through the rows, and Ctrl+C copies', async t => {
  const { find, press, replace, window } = await open(t, small)
  const focused = () => document.activeElement?.textContent
  const root = find('.value-tree > summary')
  root.focus()
  press('ArrowDown')
  t.equal(document.activeElement?.id, 'first')
  press('ArrowDown')
  t.equal(focused(), 'Array(3)')
  press('ArrowRight')
  t.equal(find<HTMLDetailsElement>('#list > details').open, true)
  press('ArrowRight')
  t.match(focused(), '0: 7')
  press('ArrowUp')
  press('ArrowDown')
  press('ArrowLeft')
  t.equal(focused(), 'Array(3)')
  press('ArrowLeft')
  t.equal(find<HTMLDetailsElement>('#list > details').open, false)
  press('ArrowLeft')
  t.equal(document.activeElement, root)
  press('ArrowLeft')
  t.equal(find<HTMLDetailsElement>('.value-tree').open, false)
  press('ArrowLeft')
  t.equal(document.activeElement, root)
  t.equal(press('x'), true, 'other keys keep their action')

  let data = ''
  const copyOf = (target: Element) => {
    const event = new window.Event('copy', { bubbles: true, cancelable: true })
    Object.defineProperty(event, 'clipboardData', { value: { setData: (_: string, text: string) => (data = text) } })
    target.dispatchEvent(event)
    return event.defaultPrevented
  }
  t.equal(copyOf(find('#first')), true)
  t.equal(data, 'Ada')
  t.equal(copyOf(root), false, 'outside of a row the browser copies')
  replace('getSelection', () => 'selected')
  t.equal(copyOf(find('#first')), false, 'the browser copies the selection')
})

t.test('a large tree can be searched, unfolded and copied', async t => {
  const { copied, enter, find, press, window } = await open(t, small + many)
  const input = find<HTMLInputElement>('.value-tools input')
  const status = () => find('.value-tools .found').textContent
  enter('.value-tools input', '***')
  t.equal(status(), '1')
  t.equal(find<HTMLDetailsElement>('.value-group').open, true)
  t.equal(find<HTMLDetailsElement>('#list > details').open, true)
  window.HTMLElement.prototype.scrollIntoView = () => undefined
  enter('.value-tools input', 'long t')
  t.equal(status(), '1')
  press('Enter', {}, input)
  t.equal(find('.is-current').id, 'long')
  press('Enter', {}, input)
  t.equal(find('.is-current').id, 'long')
  press('ArrowDown', {}, input)
  press('Escape', {}, input)
  t.strictSame([input.value, status()], ['', ''])
  press('Escape', {}, input)
  press('Enter', {}, input)
  const [unfold, copy] = [...document.querySelectorAll<HTMLElement>('.value-tools button')]
  unfold?.click()
  t.equal(document.querySelectorAll('details:not([open])').length, 0)
  t.equal(unfold?.textContent, 'Collapse all')
  unfold?.click()
  t.equal(document.querySelectorAll('details[open]').length, 1, 'the outermost value stays open')
  copy?.click()
  t.match(JSON.parse(String(copied[0])), { 'first name': 'Ada', list: [7, [], '******'], n0: null, more: true })
})

t.test('a button opens and closes all details of a list', async t => {
  const button = (id: string) => `<button data-unfold="${id}" hidden>Expand all</button>`
  const page = openPage(
    t,
    `${button('list')}${button('none')}${button('plain')}<ol id="list">${list}</ol><ol id="plain"></ol>`,
  )
  await runScript()
  const hidden = [...document.querySelectorAll('button')].map(({ hidden }) => hidden)
  t.strictSame(hidden, [false, true, true], 'it is shown if there is something to open')
  page.find('button').click()
  t.equal(document.querySelectorAll('details:not([open])').length, 0)
  page.find('button').click()
  t.equal(document.querySelectorAll('details[open]').length, 0)
})
