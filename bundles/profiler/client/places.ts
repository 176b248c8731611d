import { closestTo, copyText, createElement, recall, remember } from './browser.ts'

/** An editor, and the link that opens the place in it. */
interface EditorChoice {
  readonly name: string
  readonly label: string
  readonly link: string
}

/**
 * The answer of the server: it has opened the place, has the link of the chosen editor, or has the
 * links of all editors.
 */
interface OpenAnswer {
  readonly isOpened?: boolean
  readonly link?: string
  readonly reason?: string
  readonly editors?: readonly EditorChoice[]
}

/** Places that open in the editor, and links to files. */
const places = '.place[data-at], a.place'

/**
 * Places in the code open in the editor: `<span class="place" data-at="column">file:line</span>`.
 * The server opens it, or the page asks once which editor to use. The pointer or the focus on a
 * place also offers to copy it. Places that are added to `root` later open, too.
 */
export function enablePlaces(root: HTMLElement): void {
  prepare(root)
  const observer = new MutationObserver(changes => {
    for (const node of changes.flatMap(({ addedNodes }) => [...addedNodes])) if (node instanceof Element) prepare(node)
  })
  observer.observe(root, { childList: true, subtree: true })
  const tools = createTools(root)
  const open = (event: Event) => {
    const place = closestTo(event, places)
    if (place?.dataset.at === undefined) return
    event.preventDefault()
    void openPlace(place, root)
  }
  root.addEventListener('click', open)
  root.addEventListener('keydown', event => {
    if (event.key === 'Enter') open(event)
  })
  for (const type of ['pointerover', 'focusin']) {
    root.addEventListener(type, event => {
      const place = closestTo(event, places)
      if (place !== null && place.closest('summary') === null && tools.previousSibling !== place) place.after(tools)
    })
  }
}

/** Makes the places of a part of the page links for the keyboard. */
function prepare(part: Element): void {
  for (const place of part.querySelectorAll<HTMLElement>(places)) {
    // The row of a summary opens its details, and may not contain a second control.
    if (place.closest('summary') !== null) continue
    if (place.dataset.at !== undefined) makeLink(place)
    place.dataset.key = 'e'
  }
}

function makeLink(place: HTMLElement): void {
  place.setAttribute('role', 'link')
  place.tabIndex = 0
  place.title = 'Open in the editor'
}

/** The place as the server takes it: with its column. */
function readPlace({ dataset: { at = '' }, textContent }: HTMLElement): string {
  if (at === '0') return String(textContent)
  return /^\d+$/.test(at) ? `${textContent}:${at}` : at
}

/** The place as people write it: file and line. */
function toText(place: HTMLElement): string {
  return readPlace(place).replace(/^(.+:\d+):\d+$/, '$1')
}

/** The buttons beside the place under the pointer, or with the focus. */
function createTools(root: HTMLElement): HTMLElement {
  const copy = createElement('button', { type: 'button', class: 'button small', title: 'Copy file and line' }, 'Copy')
  const change = createElement('button', { type: 'button', class: 'button small', title: 'Choose the editor' }, '…')
  const tools = createElement('span', { class: 'place-tools' }, copy, change)
  const placeOf = () => tools.previousElementSibling as HTMLElement
  copy.addEventListener('click', () => copyText(copy, toText(placeOf())))
  change.addEventListener('click', () => {
    const place = placeOf()
    remember('editor', '')
    void openPlace(place, root, true)
  })
  return tools
}

/** Opens a place, or shows the editors in `root`; `mustAsk` shows them even if the server knows one. */
async function openPlace(place: HTMLElement, root: HTMLElement, mustAsk = false): Promise<void> {
  const at = readPlace(place)
  const body = new URLSearchParams({ at, editor: mustAsk ? '?' : (recall('editor') ?? '') })
  const answer = await fetch('/_profiler/open-editor', { method: 'POST', body }).then(
    response => response.json() as Promise<OpenAnswer>,
    (): OpenAnswer => ({ reason: 'The server does not respond.' }),
  )
  if (answer.link !== undefined) location.href = answer.link
  else if (answer.isOpened !== true) showEditors(toText(place), answer, root)
}

function showEditors(text: string, { editors = [], reason = '' }: OpenAnswer, root: HTMLElement): void {
  const id = 'editors-title'
  const copy = createElement('button', { type: 'button', class: 'button' }, 'Copy file and line')
  const close = createElement('button', { type: 'button', class: 'button' }, 'Close')
  const links = editors.map(({ label, link, name }) => {
    const choice = createElement('a', { class: 'button', href: link }, label)
    choice.addEventListener('click', () => {
      remember('editor', name)
      dialog.close()
    })
    return createElement('li', {}, choice)
  })
  const dialog = createElement(
    'dialog',
    { class: 'shortcuts editors', 'aria-labelledby': id },
    createElement('h2', { id }, editors.length === 0 ? 'Not opened' : 'Choose your editor'),
    createElement('p', {}, createElement('code', {}, text)),
    createElement(
      'p',
      { class: 'soft' },
      [reason, editors.length > 0 && 'This browser remembers your choice.'].filter(Boolean).join(' '),
    ),
    ...(links.length === 0 ? [] : [createElement('ul', {}, ...links)]),
    createElement('p', { class: 'actions' }, copy, close),
  )
  copy.addEventListener('click', () => copyText(copy, text))
  close.addEventListener('click', () => dialog.close())
  dialog.addEventListener('close', () => dialog.remove())
  root.append(dialog)
  dialog.showModal()
}
