import { createElement, recall, remember } from './browser.ts'

/** The choices of a theme. */
export const themes = ['system', 'light', 'dark'] as const

const labels = { system: 'System', light: 'Light', dark: 'Dark' }

/** Applies the stored theme, or the theme of the system by default. Adds a select for it to `place`. */
export function chooseTheme(place: Element | null): void {
  apply(recall('theme'))
  if (place === null) return
  const options = themes.map(theme => createElement('option', { value: theme }, labels[theme]))
  const select = createElement('select', { class: 'small', 'aria-label': 'Theme' }, ...options)
  select.value = recall('theme') ?? 'system'
  select.addEventListener('change', () => setTheme(select.value))
  place.append(select)
}

/** Applies a theme, and stores it. */
export function setTheme(theme: string): void {
  remember('theme', theme)
  apply(theme)
  const select = document.querySelector<HTMLSelectElement>('[data-theme-choice] select')
  if (select !== null) select.value = theme
}

function apply(theme: string | null): void {
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme
  else delete document.documentElement.dataset.theme
}

/**
 * Makes `<details data-menu>` a menu: it closes with the Escape key, by a click elsewhere, and when the focus leaves it.
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

/** Milliseconds that the result is shown on the button. */
const shownFor = 1500

/**
 * Makes `<button data-copy="id" hidden>` copy the text of the element with that id, and `<button data-text="…" hidden>` its
 * own text. The buttons are shown only with scripts.
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

/** The labels of buttons that show a result. */
const ownLabels = new WeakMap<HTMLElement, string>()

/** Copies a text, and shows the result on the button for a moment. */
export function copyText(button: HTMLElement, text: string): void {
  const label = ownLabels.get(button) ?? String(button.textContent)
  ownLabels.set(button, label)
  const showResult = (result: string) => {
    button.textContent = result
    setTimeout(() => {
      button.textContent = label
    }, shownFor)
  }
  navigator.clipboard.writeText(text).then(
    () => showResult('Copied'),
    () => showResult('Not allowed'),
  )
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
  // Now, and on each change of the size, of an open detail, and of what is laid out because it is near the window.
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

/** Opens the page of the rows that has the element of the address, such as `#log-4`. */
export function findRow(): void {
  const id = location.hash.slice(1)
  const address = new URL(location.href)
  const isSearched = address.searchParams.get('find') === id
  if (id === '' || isSearched || document.querySelector('[data-rows]') === null || document.getElementById(id) !== null)
    return
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

/** Milliseconds between two questions; an answer takes about one. */
const interval = 1000

/**
 * `<main data-sources="version" data-poll="path">` shows files that cannot be used. Loads the page again when the server answers
 * with another version: there are other mistakes, or the application runs. While it restarts there is no answer.
 */
export function followSources(main: HTMLElement | null): void {
  if (main === null) return
  const { poll = '', sources } = main.dataset
  const ask = async () => {
    const version = document.hidden
      ? sources
      : await fetch(poll, { method: 'HEAD', redirect: 'manual' }).then(
          ({ headers }) => headers.get('x-sources'),
          () => sources,
        )
    if (version === sources) setTimeout(ask, interval)
    else location.reload()
  }
  setTimeout(ask, interval)
}
