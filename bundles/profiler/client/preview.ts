import { createElement, updateTimes } from './browser.ts'
import { fetchPage } from './page.ts'

/** Milliseconds that a row has the focus before its profile is loaded. */
const restTime = 80

/** Shows the overview of a profile beside the list, where the window is wide enough. */
export class Preview {
  readonly #pane: HTMLElement | null
  #token: string | undefined
  #timer = 0

  constructor(pane: HTMLElement | null) {
    this.#pane = pane
  }

  /** Shows the profile of a row. */
  show(row: HTMLElement): void {
    const link = row.querySelector<HTMLAnchorElement>('.entry')
    if (!this.#pane || !link || !matchMedia('(min-width: 75rem)').matches) return
    this.#token = row.dataset.token
    this.mark()
    clearTimeout(this.#timer)
    // Where it cannot be loaded, the previous one stays.
    this.#timer = setTimeout(() => void this.#load(link, row.dataset.token).catch(() => undefined), restTime)
  }

  /** Marks the row of the shown profile. */
  mark(): void {
    for (const row of document.querySelectorAll<HTMLElement>('[data-token]'))
      row.classList.toggle('is-shown', row.dataset.token === this.#token)
  }

  close(): void {
    this.#token = undefined
    clearTimeout(this.#timer)
    this.mark()
    if (this.#pane !== null) this.#pane.hidden = true
  }

  async #load({ href, textContent }: HTMLAnchorElement, token: string | undefined): Promise<void> {
    const { document: page } = await fetchPage(`${href}?panel=overview`)
    const panel = page.getElementById('panel')
    if (this.#pane === null || panel === null || this.#token !== token) return
    panel.querySelector('h2')?.remove()
    this.#pane.replaceChildren(
      createElement('h2', {}, createElement('a', { href }, String(textContent))),
      createElement('div', { class: 'panel' }, ...panel.childNodes),
    )
    this.#pane.hidden = false
    this.#pane.scrollTop = 0
    updateTimes(this.#pane)
  }
}
