import { createElement } from './browser.ts'
import { type Shortcut, shortcuts } from './keys.ts'

/** Makes the keys of the table {@link shortcuts} work. In text fields only those with a modifier do. `?` lists those of the page. */
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

/** An element with a shortcut may be hidden: by a filter, or because it needs a script. A closed menu does not count. */
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
    // The dialog itself has no padding: a click on it is a click beside its content.
    createElement(
      'div',
      {},
      createElement('h2', { id }, 'Keyboard shortcuts'),
      createElement('dl', { class: 'keys' }, ...rows),
      close,
    ),
  )
  close.addEventListener('click', () => dialog.close())
  dialog.addEventListener('click', ({ target }) => {
    if (target === dialog) dialog.close()
  })
  dialog.addEventListener('close', () => dialog.remove())
  document.body.append(dialog)
  dialog.showModal()
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
