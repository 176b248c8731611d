import { copyText, createElement } from './browser.ts'
import { unfoldBy } from './controls.ts'
import { createSearch, createStatus, openAround } from './page.ts'

/** A tree with more entries has a search field. */
const smallTree = 12

/**
 * Makes the trees of values easier to use. Arrow keys move through the rows, and open and close them. A row has buttons
 * that copy its value and its path; Ctrl+C copies the value of the row with the focus. Large trees can be searched.
 */
export function enableValueTrees(root: ParentNode): void {
  const actions = createActions()
  for (const values of root.querySelectorAll<HTMLElement>('.values')) {
    const tree = values.querySelector<HTMLDetailsElement>(':scope > details.value-tree')
    if (tree === null) continue
    if (tree.querySelectorAll('li').length > smallTree) tree.querySelector('summary')?.after(createTools(tree))
    const show = ({ target }: Event) => {
      const row = target instanceof Element && rowOf(target)
      if (row && values.contains(row) && actions.parentElement !== row) row.append(actions)
    }
    values.addEventListener('pointerover', show)
    values.addEventListener('focusin', show)
    values.addEventListener('keydown', event => move(event, tree))
    values.addEventListener('copy', event => {
      const row = event.target instanceof Element && rowOf(event.target)
      if (!row || String(getSelection()) !== '') return
      event.preventDefault()
      event.clipboardData?.setData('text/plain', textOf(row))
    })
  }
}

/** The row of a property or an item: not that of a group. */
function rowOf(element: Element): HTMLElement | undefined {
  const row = element.closest<HTMLElement>('.values li')
  return row?.querySelector(':scope > .value-name') ? row : undefined
}

function createActions(): HTMLElement {
  const actions = createElement('span', { class: 'value-actions' })
  const button = (label: string, title: string, read: (row: HTMLElement) => string) => {
    const created = createElement('button', { type: 'button', title }, label)
    created.addEventListener('click', () => {
      const row = rowOf(created)
      if (row !== undefined) copyText(created, read(row))
    })
    return created
  }
  actions.append(button('Copy', 'Copy the value', textOf), ' ', button('Path', 'Copy the path', pathOf))
  return actions
}

function createTools(tree: HTMLDetailsElement): HTMLElement {
  const search = createSearch('Search values')
  const status = createStatus()
  const unfold = createElement('button', { type: 'button' })
  const copy = createElement('button', { type: 'button' }, 'Copy')
  search.addEventListener('input', () => {
    const count = mark(tree, search.value.trim().toLowerCase())
    status.textContent = search.value.trim() === '' ? '' : String(count)
  })
  search.addEventListener('keydown', event => {
    if (event.key === 'Enter') focusNextMatch(tree)
    if (event.key !== 'Escape' || search.value === '') return
    event.preventDefault()
    search.value = ''
    search.dispatchEvent(new Event('input'))
  })
  unfoldBy(unfold, tree)
  copy.addEventListener('click', () => copyText(copy, textOf(tree)))
  return createElement('div', { class: 'value-tools' }, search, status, unfold, copy)
}

/** Marks the rows whose name or own value contains a text, and opens the objects around them. */
function mark(tree: HTMLElement, text: string): number {
  let count = 0
  for (const row of tree.querySelectorAll<HTMLElement>('li')) {
    const isMatch = text !== '' && ownTextOf(row).toLowerCase().includes(text)
    row.classList.toggle('is-match', isMatch)
    if (!isMatch) continue
    count++
    openAround(row, tree)
  }
  return count
}

function focusNextMatch(tree: HTMLElement): void {
  const matches = [...tree.querySelectorAll<HTMLElement>('.is-match')]
  const current = matches.findIndex(row => row.classList.contains('is-current'))
  const next = matches[(current + 1) % matches.length]
  matches[current]?.classList.remove('is-current')
  next?.classList.add('is-current')
  next?.scrollIntoView({ block: 'nearest' })
}

/** The text of a row without those of the rows in it. */
function ownTextOf(row: HTMLElement): string {
  const name = row.querySelector(':scope > .value-name')?.textContent ?? ''
  const value = row.querySelector(
    ':scope > span:not(.value-name, .value-actions), :scope > details > :is(summary, pre)',
  )
  const long = row.querySelector(':scope > details > pre')
  return [name, value?.textContent, long?.textContent].join(' ')
}

/** Moves the focus through the visible rows, as in a tree of the operating system. */
function move(event: KeyboardEvent, tree: HTMLDetailsElement): void {
  const { key, target } = event
  if (!(target instanceof HTMLElement) || target instanceof HTMLInputElement) return
  const row = target.closest('li')
  const details = row === null || !tree.contains(row) ? tree : row.querySelector<HTMLDetailsElement>(':scope > details')
  const rows = [tree, ...tree.querySelectorAll<HTMLElement>('li')].filter(isVisible)
  const index = rows.indexOf(row !== null && tree.contains(row) ? row : tree)
  const outer = row?.parentElement?.closest<HTMLElement>('li, .value-tree')
  const go: Readonly<Record<string, () => unknown>> = {
    ArrowDown: () => focusRow(rows[index + 1]),
    ArrowUp: () => focusRow(rows[index - 1]),
    ArrowRight: () => (details && !details.open ? details.toggleAttribute('open', true) : focusRow(rows[index + 1])),
    ArrowLeft: () => (details?.open ? details.toggleAttribute('open', false) : focusRow(outer ?? undefined)),
  }
  const action = go[key]
  if (action === undefined) return
  event.preventDefault()
  action()
}

/** Whether all objects around a row are open. */
function isVisible(row: HTMLElement): boolean {
  const outer = row.parentElement?.closest('details')
  if (!outer?.matches('.values details')) return true
  return outer.open && isVisible(outer)
}

function focusRow(row: HTMLElement | undefined): void {
  const summary = row?.querySelector<HTMLElement>(':scope > summary, :scope > details > summary')
  const target = summary ?? row
  if (summary === null) row?.setAttribute('tabindex', '-1')
  target?.focus()
}

/** The value of a row: a string as it is, anything else as JSON. */
function textOf(element: HTMLElement): string {
  const value = readValue(element)
  return typeof value === 'string' ? value : JSON.stringify(value, undefined, 2)
}

/** Reads the value of a row, or of a tree, from the page. It has no classes: objects are plain. */
function readValue(element: HTMLElement): unknown {
  const tree = element.matches('.value-tree') ? element : element.querySelector(':scope > .value-tree')
  if (tree === null) return readLeaf(element)
  const rows = tree.querySelectorAll<HTMLElement>(':scope > ul > li, :scope > ul > li > .value-group > ul > li')
  const pairs = [...rows].flatMap((row): [string, unknown][] => {
    const name = row.querySelector(':scope > .value-name')
    return name === null ? [] : [[String(name.textContent), readValue(row)]]
  })
  const source = tree.querySelector(':scope > ul > li > .value-source > pre')?.textContent
  if (source) pairs.push(...Object.entries(JSON.parse(source)))
  return isArray(tree) ? pairs.map(([, value]) => value) : Object.fromEntries(pairs)
}

function readLeaf(row: HTMLElement): unknown {
  const text = row.querySelector(':scope > details > pre.value-text, :scope > .value-text')?.textContent
  if (text !== undefined) return String(text).slice(1, -1)
  const other = row.querySelector(':scope > span:not(.value-name, .value-actions)')?.textContent ?? ''
  return /^(?:true|false|null|-?\d+(?:\.\d+)?|\[\]|\{\})$/.test(other) ? JSON.parse(other) : other
}

function isArray(tree: Element): boolean {
  return tree.querySelector('summary')?.textContent.startsWith('Array(') === true
}

/** The path of a row from the outermost value: `list[0].name`. */
function pathOf(row: HTMLElement): string {
  const name = row.querySelector(':scope > .value-name')?.textContent ?? ''
  const tree = row.closest<HTMLElement>('.value-tree')
  const parent = tree?.parentElement?.matches('.values li') ? tree.parentElement : undefined
  const before = parent === undefined ? '' : pathOf(parent)
  if (tree !== null && isArray(tree)) return `${before}[${name}]`
  if (!/^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u.test(name)) return `${before}[${JSON.stringify(name)}]`
  return before === '' ? name : `${before}.${name}`
}
