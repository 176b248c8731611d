import { createElement } from './browser.ts'
import { showDialog } from './page.ts'

/**
 * Makes the keys of the table {@link shortcuts} work. In text fields only those with a modifier
 * do. `?` lists those of the page.
 */
export function enableShortcuts(root: ParentNode): void {
  const find = ({ key }: Shortcut) => [...root.querySelectorAll<HTMLElement>(`[data-key="${key}"]`)].find(isReachable)
  document.addEventListener('keydown', event => {
    const key = keyOf(event)
    if (key === undefined || document.querySelector(':modal') !== null) return
    const element = shortcuts
      .filter(shortcut => shortcut.key === key)
      .flatMap(shortcut => find(shortcut) ?? [])
      .at(0)
    if (element === undefined && key !== '?') return
    event.preventDefault()
    if (element === undefined) showShortcuts(shortcuts.filter(shortcut => isOnPage(shortcut, find)))
    else activate(element)
  })
}

/** The key as in the table; `undefined` for keys that belong to a text field or to the browser. */
function keyOf({ altKey, ctrlKey, defaultPrevented, key, metaKey, target }: KeyboardEvent): string | undefined {
  if (defaultPrevented || altKey) return undefined
  if (ctrlKey || metaKey) return `Mod+${key}`
  return isTyping(target) ? undefined : key
}

function isOnPage(shortcut: Shortcut, find: (shortcut: Shortcut) => HTMLElement | undefined): boolean {
  const { selector } = shortcut
  return selector === undefined ? find(shortcut) !== undefined : document.querySelector(selector) !== null
}

/**
 * An element with a shortcut may be hidden: by a filter, or because it needs a script. A closed menu does not count.
 */
function isReachable(element: HTMLElement): boolean {
  const visible = element.closest<HTMLElement>('[data-menu]') ?? element
  return visible.checkVisibility() && !element.matches(':disabled')
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false
  return target.isContentEditable || target.matches('textarea, select') || isTextField(target)
}

function isTextField(element: Element): boolean {
  return element instanceof HTMLInputElement && !['button', 'checkbox', 'radio', 'submit'].includes(element.type)
}

function activate(element: HTMLElement): void {
  if (isTextField(element) || element.matches('textarea, select')) element.focus()
  else element.click()
}

function showShortcuts(shown: readonly Shortcut[]): void {
  const id = 'shortcuts-title'
  const rows = shown.map(({ key, label }) => createRow(key, label))
  const close = createElement('button', { class: 'button' }, 'Close')
  const dialog = createElement(
    'dialog',
    { class: 'shortcuts', 'aria-labelledby': id },
    // The dialog itself has no padding: a click on the dialog is a click beside its content.
    createElement(
      'div',
      {},
      createElement('h2', { id }, 'Keyboard shortcuts'),
      createElement('dl', { class: 'keys' }, ...rows),
      close,
    ),
  )
  close.addEventListener('click', () => dialog.close())
  showDialog(dialog)
}

function createRow(key: string, label: string): HTMLElement {
  const keys = nameKey(key)
    .split(' ')
    .flatMap(name => [createElement('kbd', {}, name), ' '])
  return createElement('div', {}, createElement('dt', {}, ...keys), createElement('dd', {}, label))
}

/** The label of a key on this system: `Ctrl K` or `⌘ K`. */
export function nameKey(key: string): string {
  const modifier = navigator.platform.startsWith('Mac') ? '⌘' : 'Ctrl'
  if (key === 'Escape') return 'Esc'
  return key.replace(/^Mod\+(.)/, (_, first) => `${modifier} ${first.toUpperCase()}`)
}

/** A key of the profiler's pages, and its purpose. */
interface Shortcut {
  /** As in `KeyboardEvent.key`; `Mod+` stands for Ctrl, or for Command on a Mac. */
  readonly key: string
  readonly label: string
  /**
   * Without it, the key clicks the element with this key in `data-key`, or focuses it if it is a text field. With it, a
   * script handles the key where this selector finds an element.
   */
  readonly selector?: string
}

/** All shortcuts of all pages, in the order in which the help lists them. */
export const shortcuts: readonly Shortcut[] = [
  { key: 'Mod+k', label: 'Search everything' },
  { key: '/', label: 'Filter' },
  { key: 'c', label: 'Copy' },
  { key: 'e', label: 'Open the first place in the editor' },
  { key: 'j', label: 'Next profile with its preview, also ↓', selector: '#results tr' },
  { key: 'k', label: 'Previous profile, also ↑', selector: '#results tr' },
  { key: 'Enter', label: 'Open the profile', selector: '#results tr' },
  { key: 'j', label: 'Next line', selector: '.items :is(summary, a)' },
  { key: 'k', label: 'Previous line', selector: '.items :is(summary, a)' },
  { key: '[', label: 'Previous profile' },
  { key: ']', label: 'Next profile' },
  { key: 'l', label: 'Latest profile' },
  { key: 'p', label: 'Pin or unpin' },
  { key: 'r', label: 'Replay' },
  { key: 'd', label: 'Compare with previous' },
  { key: '↑ ↓', label: 'Move between rows', selector: '#timeline .lines' },
  { key: '+ - 0', label: 'Zoom in, zoom out, whole request', selector: '#timeline .chart' },
  { key: '← →', label: 'Move the zoomed part', selector: '#timeline .chart' },
  { key: '← ↑ → ↓', label: 'Move between frames', selector: 'svg.flame' },
  { key: '↑ ↓', label: 'Search: move between results', selector: '[data-palette]' },
  { key: 'Mod+Enter', label: 'Search: open in a new tab', selector: '[data-palette]' },
  { key: '?', label: 'Keyboard shortcuts', selector: 'body' },
  { key: 'Escape', label: 'Close', selector: 'body' },
]
