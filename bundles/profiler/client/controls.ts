import { copyText, countOf, createElement, recall, remember } from './browser.ts'
import { createSearch, createStatus } from './page.ts'

/** The choices of a theme. */
export const themes = ['system', 'light', 'dark'] as const

/** Applies the stored theme, or the theme of the system by default. `button` changes it. */
export function chooseTheme(button: HTMLElement | null): void {
  apply(recall('theme'))
  if (button === null) return
  button.hidden = false
  button.addEventListener('click', () => {
    const next = { light: 'dark', dark: 'system' }[String(document.documentElement.dataset.theme)]
    setTheme(next ?? 'light')
  })
}

/** Applies a theme, and stores it. */
export function setTheme(theme: string): void {
  remember('theme', theme)
  apply(theme)
}

function apply(theme: string | null): void {
  const { dataset } = document.documentElement
  if (theme === 'light' || theme === 'dark') dataset.theme = theme
  else delete dataset.theme
  const button = document.querySelector<HTMLElement>('[data-theme-choice]')
  const icon = button?.querySelector('use')
  if (!button || !icon) return
  const name = dataset.theme ?? 'system'
  button.title = `Theme: ${name}`
  button.setAttribute('aria-label', button.title)
  icon.setAttribute('href', String(icon.getAttribute('href')).replace(/\w+$/, name))
}

/**
 * Makes `<details data-menu>` a menu: it closes with the Escape key, by a click elsewhere, and
 * when the focus leaves it.
 */
export function enableMenus(root: ParentNode): void {
  const closeOthers = ({ target }: Event) => {
    for (const menu of findOpen(root)) if (!(target instanceof Node && menu.contains(target))) menu.open = false
  }
  document.addEventListener('click', closeOthers)
  document.addEventListener('focusin', closeOthers)
  document.addEventListener('keydown', event => {
    if (event.key !== 'Escape' || event.defaultPrevented) return
    for (const menu of findOpen(root)) {
      const hasFocus = menu.contains(document.activeElement)
      menu.open = false
      if (hasFocus) menu.querySelector('summary')?.focus()
    }
  })
}

function findOpen(root: ParentNode): HTMLDetailsElement[] {
  return [...root.querySelectorAll<HTMLDetailsElement>('details[data-menu][open]')]
}

/** Scrolls a strip of tabs, which narrow screens have, so that the current one is in sight. The page does not move. */
export function showCurrentTab(strip: HTMLElement | null): void {
  const current = strip?.querySelector<HTMLElement>('[aria-current]')
  if (!strip || !current) return
  const { left, width } = current.getBoundingClientRect()
  const { left: begin, width: room } = strip.getBoundingClientRect()
  strip.scrollLeft += left - begin - (room - width) / 2
}

/**
 * Makes `<button data-copy="id" hidden>` copy the text of the element with that id, and
 * `<button data-text="…" hidden>` its own text. The buttons are shown only with scripts.
 */
export function enableCopying(root: ParentNode): void {
  for (const button of root.querySelectorAll<HTMLButtonElement>('button:is([data-copy], [data-text])')) {
    const { copy = '', text } = button.dataset
    const source = document.getElementById(copy)
    if (text === undefined && source === null) continue
    button.hidden = false
    button.addEventListener('click', () => copyText(button, text ?? source?.textContent ?? ''))
  }
}

const candidates = 'main :is(section, div, pre, ol, ul, details)'
const focusable = 'a[href], button, input, select, textarea, summary, [tabindex]'

/**
 * Makes scrollable elements without focusable content reachable by keyboard. Not every browser does this by itself.
 */
export function enableScrollers(): void {
  const update = () => {
    for (const element of document.querySelectorAll<HTMLElement>(candidates)) {
      const isReachable = element.hasAttribute('tabindex')
      if (!isReachable && scrolls(element)) makeReachable(element)
      if (isReachable && element.dataset.scroller !== undefined && !scrolls(element))
        element.removeAttribute('tabindex')
    }
  }
  // Updates now, and when the size changes, details open or close, or the browser lays out content
  // that is near the window.
  new ResizeObserver(update).observe(document.body)
  for (const name of ['toggle', 'contentvisibilityautostatechange']) document.addEventListener(name, update, true)
}

function scrolls(element: HTMLElement): boolean {
  const isTooSmall = element.scrollWidth > element.clientWidth || element.scrollHeight > element.clientHeight
  if (!isTooSmall || element.querySelector(focusable) !== null) return false
  const { overflowX, overflowY } = getComputedStyle(element)
  return /auto|scroll/.test(overflowX + overflowY)
}

function makeReachable(element: HTMLElement): void {
  element.tabIndex = 0
  element.dataset.scroller = ''
  // A list keeps its role.
  if (element.matches('ol, ul, [aria-label], [aria-labelledby]')) return
  const heading = 'h2, h3, h4, summary'
  const named = element.querySelector(heading) ?? element.closest('section, details')?.querySelector(heading)
  element.setAttribute('role', 'group')
  element.setAttribute('aria-label', named?.textContent ?? 'Scrollable content')
}

const open = 'Expand all'
const close = 'Collapse all'

/** Makes `<button data-unfold="id" hidden>` open and close all details of the element with that id. */
export function enableUnfolding(root: ParentNode): void {
  for (const button of root.querySelectorAll<HTMLElement>('button[data-unfold]')) {
    const target = document.getElementById(button.dataset.unfold ?? '')
    if (!target?.querySelector('details')) continue
    button.hidden = false
    unfoldBy(button, target)
  }
}

/**
 * Opens the item of the address, such as `#query-4`, or asks for it if the page has other rows or messages than these.
 */
export function findRow(): void {
  const id = location.hash.slice(1)
  const item = document.getElementById(id)?.querySelector<HTMLDetailsElement>(':scope.item > details')
  if (item) item.open = true
  const address = new URL(location.href)
  const isSearched = address.searchParams.get('find') === id
  const hasOthers = document.querySelector('[data-rows], [data-partial]') !== null
  if (id === '' || isSearched || !hasOthers || document.getElementById(id) !== null) return
  address.searchParams.set('find', id)
  location.replace(address)
}

/** Makes a button open and close all details of an element. */
export function unfoldBy(button: HTMLElement, target: HTMLElement): void {
  button.textContent = open
  button.addEventListener('click', () => {
    const isOpen = button.textContent === open
    for (const details of target.querySelectorAll('details')) details.open = isOpen
    button.textContent = isOpen ? close : open
  })
}

/**
 * Makes a flame graph usable with the arrow keys, as one stop of the Tab key, and shows details of
 * the frame that has the focus or is below the pointer.
 */
export function enableFlameGraph(graph: SVGSVGElement | null): void {
  const bars = [...(graph?.querySelectorAll<SVGAElement>('a') ?? [])]
  if (graph === null || bars.length === 0) return
  // The bar above each bar is the last one before it in the row above.
  const last: number[] = []
  const parents = bars.map((bar, index) => {
    const row = lengthOf(bar, 'y')
    const parent = last[row - 1]
    last[row] = index
    return parent
  })
  addSearch(graph, bars, parents)
  let current = 0
  const moveTabStop = (index: number) => {
    bars[current]?.setAttribute('tabindex', '-1')
    bars[index]?.setAttribute('tabindex', '0')
    current = index
  }
  for (const bar of bars) bar.setAttribute('tabindex', '-1')
  moveTabStop(0)
  graph.addEventListener('keydown', event => {
    const next = bars[neighbourOf(parents, current, event.key) ?? -1]
    if (next === undefined || event.altKey || event.ctrlKey || event.metaKey) return
    event.preventDefault()
    next.focus()
  })
  const detail = document.querySelector<HTMLElement>('.flame-detail')
  for (const [index, bar] of bars.entries()) {
    const showDetail = () => {
      if (!detail) return
      detail.hidden = false
      detail.textContent = titleOf(bar)
    }
    bar.addEventListener('focus', () => {
      moveTabStop(index)
      showDetail()
    })
    bar.addEventListener('pointerenter', showDetail)
  }
}

/** The index of the caller of each bar; the first row has none. */
type Parents = readonly (number | undefined)[]

/** The row of a bar, or its width; 0 without it. */
function lengthOf(bar: SVGAElement, name: 'width' | 'y'): number {
  return Number.parseFloat(bar.querySelector('svg')?.getAttribute(name) ?? '0')
}

/** All data of a frame, in one line. */
function titleOf(bar: SVGAElement): string {
  return bar.querySelector('title')?.textContent ?? ''
}

/** Adds a field that highlights the frames whose name or place contains a text, and shows their share. */
function addSearch(graph: SVGSVGElement, bars: readonly SVGAElement[], parents: Parents): void {
  const field = createSearch('Search frames', { 'data-key': '/' })
  const status = createStatus()
  field.addEventListener('input', () => {
    const text = field.value.trim().toLowerCase()
    const found = bars.map(bar => text !== '' && titleOf(bar).toLowerCase().includes(text))
    for (const [index, bar] of bars.entries()) bar.classList.toggle('is-match', found[index])
    graph.classList.toggle('is-searching', text !== '')
    // A frame within another one that matches is a part of it.
    const share = bars.reduce((sum, bar, index) => {
      let parent = parents[index]
      while (parent !== undefined && !found[parent]) parent = parents[parent]
      const isOutermost = found[index] && parent === undefined
      return sum + (isOutermost ? lengthOf(bar, 'width') : 0)
    }, 0)
    status.textContent = text === '' ? '' : `${countOf(found.filter(Boolean).length, 'frame')}, ${share.toFixed(1)} %`
  })
  document.querySelector('.flame-head')?.append(createElement('div', { class: 'flame-search' }, field, status))
}

/** The index of the bar that a key moves to: the caller, the first call, or the neighbour with the same caller. */
function neighbourOf(parents: Parents, index: number, key: string): number | undefined {
  const callsOf = (caller: number | undefined) => [...parents.keys()].filter(other => parents[other] === caller)
  const siblings = callsOf(parents[index])
  const place = siblings.indexOf(index)
  if (key === 'ArrowUp') return parents[index]
  if (key === 'ArrowDown') return callsOf(index)[0]
  if (key === 'ArrowLeft') return siblings[place - 1]
  if (key === 'ArrowRight') return siblings[place + 1]
  return undefined
}
