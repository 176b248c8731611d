import { createElement } from './browser.ts'

type Keyed = HTMLElement & { readonly dataset: { readonly key: string } }

/**
 * Keyboard shortcuts: the key of `data-key="x"` clicks its element, or focuses it if it is a text field. `?` lists the
 * shortcuts of the page. There are no shortcuts in text fields or with a modifier key.
 */
export function enableShortcuts(root: ParentNode): void {
  const keyed = () => [...root.querySelectorAll<Keyed>('[data-key]')].filter(isReachable)
  document.addEventListener('keydown', event => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return
    if (document.querySelector(':modal') !== null) return
    const element = keyed().find(({ dataset }) => dataset.key === event.key)
    if (element === undefined && event.key !== '?') return
    event.preventDefault()
    if (element === undefined) showShortcuts(keyed())
    else activate(element)
  })
}

/** An element with a shortcut may be hidden: by a filter, or because it needs a script. */
function isReachable(element: HTMLElement): boolean {
  return element.checkVisibility() && !element.matches(':disabled')
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

function showShortcuts(keyed: readonly Keyed[]): void {
  const id = 'shortcuts-title'
  const rows = [
    ...keyed.map(element => createRow(element.dataset.key, nameOf(element))),
    createRow('?', 'Keyboard shortcuts'),
    createRow('Esc', 'Close'),
  ]
  const close = createElement('button', { class: 'button' }, 'Close')
  const dialog = createElement(
    'dialog',
    { class: 'shortcuts', 'aria-labelledby': id },
    createElement('h2', { id }, 'Keyboard shortcuts'),
    createElement('dl', { class: 'keys' }, ...rows),
    close,
  )
  close.addEventListener('click', () => dialog.close())
  dialog.addEventListener('close', () => dialog.remove())
  document.body.append(dialog)
  dialog.showModal()
}

function createRow(key: string, name: string): HTMLElement {
  const term = createElement('dt', {}, createElement('kbd', {}, key))
  return createElement('div', {}, term, createElement('dd', {}, name))
}

/** The accessible name of an element, approximately. */
function nameOf(element: HTMLElement): string {
  const labels = element instanceof HTMLInputElement || element instanceof HTMLSelectElement ? element.labels : null
  const texts = [element.ariaLabel, labels?.[0]?.textContent, element.textContent, element.title]
  return texts.map(text => (text ?? '').replace(/\s+/g, ' ').trim()).find(text => text !== '') ?? ''
}
