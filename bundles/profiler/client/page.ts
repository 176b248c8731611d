import { createElement, nameZone, toLocal, updateTimes } from './browser.ts'

/** A page of the profiler, and its URL after redirects. */
export interface FetchedPage {
  readonly document: Document
  readonly url: string
}

/** Loads a page of the profiler. @throws when the response is not a success */
export async function fetchPage(url: string, init: RequestInit = {}): Promise<FetchedPage> {
  const response = await fetch(url, init)
  const html = await response.text()
  if (!response.ok) throw new Error(`The server responded with ${response.status}.`)
  return { document: new DOMParser().parseFromString(html, 'text/html'), url: response.url }
}

/** Opens the closed details around an element, up to `within`. */
export function openAround(element: Element, within: Element): void {
  let details = element.parentElement?.closest('details')
  while (details && within.contains(details)) {
    details.open = true
    details = details.parentElement?.closest('details')
  }
}

/** The fields of a form with their texts. Empty fields are left out. */
export function fieldsOf(form: HTMLFormElement): [string, string][] {
  return [...new FormData(form)].filter((field): field is [string, string] => field[1] !== '')
}

/** Creates a field that searches a part of the page. */
export function createSearch(label: string, attributes: Readonly<Record<string, string>> = {}): HTMLInputElement {
  const texts = { 'aria-label': label, placeholder: label }
  return createElement('input', { type: 'search', autocomplete: 'off', spellcheck: 'false', ...texts, ...attributes })
}

/** Creates the text beside a search: how much was found. Screen readers announce it. */
export function createStatus(): HTMLElement {
  return createElement('span', { class: 'found', role: 'status' })
}

/** Shows a dialog until it is closed, also by a click beside it, whose target is the dialog itself. */
export function showDialog(dialog: HTMLDialogElement): void {
  dialog.addEventListener('click', ({ target }) => {
    if (target === dialog) dialog.close()
  })
  dialog.addEventListener('close', () => dialog.remove())
  document.body.append(dialog)
  dialog.showModal()
}

/** Milliseconds between two updates of relative times. */
const updateInterval = 15_000

/**
 * Shows the times of the page in the time zone of the browser. The server writes them in UTC.
 * Relative times are updated.
 */
export function showLocalTimes(): void {
  updateTimes(document)
  for (const element of document.querySelectorAll('[data-zone]')) element.textContent = nameZone(new Date())
  for (const input of document.querySelectorAll<HTMLInputElement>('input[type="datetime-local"]'))
    acceptLocalTime(input)
  setInterval(() => {
    if (!document.hidden) updateTimes(document)
  }, updateInterval)
}

/** Makes a field of a form local: the form sends the time in UTC, which the field of the server contains. */
function acceptLocalTime(input: HTMLInputElement): void {
  const sent = document.createElement('input')
  sent.type = 'hidden'
  sent.name = input.name
  input.removeAttribute('name')
  input.after(sent)
  const update = () => {
    // A field without seconds means the whole minute.
    sent.value = input.value && `${new Date(input.value).toISOString().slice(0, input.value.length)}Z`
  }
  if (input.value !== '') input.value = toLocal(new Date(`${input.value}Z`)).slice(0, input.value.length)
  input.addEventListener('input', update)
  update()
}
