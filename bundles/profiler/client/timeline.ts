import { closestTo, createElement, fetchPage } from './browser.ts'
import type { TimeAxis } from './time-axis.ts'
import { TimelineZoom } from './timeline-zoom.ts'

/** Milliseconds after the last change before the URL follows, and missing rows are loaded. */
const debounce = 200

/**
 * Makes a timeline interactive: it is filtered without a request, zoomed with the pointer, the wheel and the keyboard, and
 * shows details of the row that has the focus or is below the pointer. The URL follows, so a shared link shows the same.
 */
export function enableTimeline(form: HTMLFormElement | null): void {
  const chart = form?.querySelector<HTMLElement>('.chart')
  const select = form?.querySelector('select')
  if (form && chart && select) new Timeline(form, chart, select)
}

class Timeline {
  readonly #form: HTMLFormElement
  readonly #chart: HTMLElement
  readonly #select: HTMLSelectElement
  readonly #zoom: TimelineZoom
  #timer = 0

  constructor(form: HTMLFormElement, chart: HTMLElement, select: HTMLSelectElement) {
    this.#form = form
    this.#chart = chart
    this.#select = select
    this.#zoom = new TimelineZoom(chart, readAxis(chart), this.#field('from'), this.#field('to'), () => this.#onZoom())
    form.querySelector<HTMLButtonElement>('button[type="submit"]')?.setAttribute('hidden', '')
    form.addEventListener('change', () => this.#onChange())
    form.addEventListener('click', event => this.#onClick(event))
    for (const type of ['pointerover', 'focusin']) {
      form.addEventListener(type, event => {
        const row = closestTo<HTMLTableRowElement>(event, '.lines tr')
        if (row !== null) this.#describe(row)
      })
    }
    form.addEventListener('keydown', event => this.#move(event))
    this.#addTools()
    this.#filter()
    this.#reveal(location.hash)
  }

  #field(name: string): HTMLInputElement {
    const field = this.#form.querySelector<HTMLInputElement>(`input[name="${name}"]`)
    if (field !== null) return field
    const created = createElement('input', { type: 'hidden', name })
    this.#form.append(created)
    return created
  }

  get #rows(): readonly HTMLTableRowElement[] {
    return [...this.#form.querySelectorAll<HTMLTableRowElement>('.lines tr')]
  }

  #addTools(): void {
    const add = (label: string, text: string, factor: number) => {
      const button = createElement('button', { class: 'button small', type: 'button', 'aria-label': label }, text)
      button.addEventListener('click', () => this.#zoom.scale(factor))
      this.#form.querySelector('[data-zoom]')?.before(button, ' ')
    }
    add('Zoom out', '−', 2)
    add('Zoom in', '+', 1 / 2)
    // As for the keys of the flame graph, a key belongs to the timeline wherever the focus is.
    document.addEventListener('keydown', event => this.#onKey(event))
  }

  #onKey(event: KeyboardEvent): void {
    const { altKey, ctrlKey, defaultPrevented, key, metaKey } = event
    if (defaultPrevented || altKey || ctrlKey || metaKey) return
    if (closestTo(event, 'select, textarea, input:not([type="checkbox"])') !== null) return
    const zoom = this.#zoom
    const actions: Readonly<Record<string, () => void>> = {
      '+': () => zoom.scale(1 / 2),
      '=': () => zoom.scale(1 / 2),
      '-': () => zoom.scale(2),
      '0': () => zoom.reset(),
      ...(zoom.isZoomed && { ArrowLeft: () => zoom.pan(-0.2), ArrowRight: () => zoom.pan(0.2) }),
    }
    const action = actions[key]
    if (action === undefined) return
    event.preventDefault()
    action()
  }

  #onZoom(): void {
    const reset = this.#form.querySelector<HTMLElement>('[data-zoom]')
    if (reset) reset.hidden = !this.#zoom.isZoomed
    this.#schedule()
  }

  #onChange(): void {
    this.#filter()
    this.#schedule()
  }

  #schedule(): void {
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#updateUrl()
      if (this.#chart.dataset.omitted !== '0') void this.#load()
    }, debounce)
  }

  #onClick(event: MouseEvent): void {
    if (closestTo(event, '[data-zoom]') !== null) {
      event.preventDefault()
      this.#zoom.reset()
    }
    const link = closestTo<HTMLAnchorElement>(event, '.slowest a')
    if (link !== null) this.#reveal(link.hash)
  }

  /** Shows a row that the filter or the zoom hides, so that a link to it leads to its bar. */
  #reveal(hash: string): void {
    const row = this.#rows.find(({ id }) => `#${id}` === hash)
    if (row === undefined) return
    if (this.#zoom.hides(row)) this.#zoom.reset()
    if (!row.hidden) return
    row.hidden = false
    this.#count()
    row.scrollIntoView({ block: 'center' })
  }

  #filter(): void {
    const { value } = this.#select
    const threshold = 1000 * Number(value === '' ? this.#select.dataset.fitting : value)
    const off = this.#boxes.filter(({ checked }) => !checked).map(({ value }) => `of-${value}`)
    for (const row of this.#rows) {
      const isShort = Number(row.dataset.us) < threshold
      const isOff = off.some(name => row.classList.contains(name))
      row.hidden = !row.classList.contains('of-whole') && (isShort || isOff)
      const slow = this.#form.querySelector<HTMLElement>(`.slowest li:has([href="#${row.id}"])`)
      if (slow) slow.hidden = row.hidden
    }
    this.#count()
  }

  get #boxes(): readonly HTMLInputElement[] {
    return [...this.#form.querySelectorAll<HTMLInputElement>('input[name="show"]')]
  }

  #count(): void {
    const rows = this.#rows
    const omitted = Number(this.#chart.dataset.omitted)
    const hidden = omitted + rows.filter(row => row.hidden).length
    for (const note of this.#form.querySelectorAll('[data-hidden]')) {
      note.textContent = hidden === 0 ? '' : `${hidden} of ${rows.length + omitted} rows are hidden.`
      note.nextElementSibling?.toggleAttribute('hidden', hidden === 0)
    }
  }

  #updateUrl(): void {
    const isAll = this.#boxes.every(({ checked }) => checked)
    const fields = [...new FormData(this.#form)].filter(
      (field): field is [string, string] => field[1] !== '' && !(field[0] === 'show' && isAll),
    )
    const url = new URL(this.#form.action)
    url.search = new URLSearchParams(fields).toString()
    url.hash = location.hash
    history.replaceState(history.state, '', url)
  }

  /** Loads the rows for this filter and this part of the axis, if the page does not contain all rows. */
  async #load(): Promise<void> {
    const url = location.href
    const loaded = await fetchPage(url).catch(() => undefined)
    // The server may be restarting, or the timeline has changed meanwhile.
    if (loaded === undefined || location.href !== url) return
    const focused = document.activeElement?.closest('.lines tr')?.id
    for (const selector of ['.lines', '.slowest']) {
      const fresh = loaded.document.querySelector(`#timeline ${selector}`)
      if (fresh) this.#form.querySelector(selector)?.replaceWith(fresh)
    }
    this.#chart.dataset.omitted = loaded.document.querySelector<HTMLElement>('#timeline .chart')?.dataset.omitted
    this.#zoom.draw()
    this.#filter()
    if (focused) focusRow(this.#rows.find(({ id }) => id === focused))
  }

  /** Shows details of a row in a line below the chart. The table itself has the same texts for screen readers. */
  #describe(row: HTMLTableRowElement): void {
    const line = this.#form.querySelector<HTMLElement>('.timeline-detail')
    if (line === null) return
    const [name, when, duration, own] = row.cells
    const kind = this.#form.querySelector(`.lanes .${row.classList[0]} th`)
    const ownTime = own?.textContent && `own ${own.textContent}`
    line.textContent = [name, kind, when, duration]
      .map(part => part?.textContent?.trim())
      .concat(ownTime)
      .filter(Boolean)
      .join(' · ')
    line.hidden = false
  }

  /** The arrow keys move the focus from row to row. */
  #move(event: KeyboardEvent): void {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
    const shown = this.#rows.filter(row => !row.hidden)
    const at = shown.findIndex(row => row.contains(document.activeElement))
    const next = step && at !== -1 ? shown[at + step] : undefined
    if (next === undefined) return
    event.preventDefault()
    focusRow(next)
  }
}

function focusRow(row: HTMLTableRowElement | undefined): void {
  row?.querySelector<HTMLElement>('th :is(a, [tabindex])')?.focus()
}

function readAxis({ dataset }: HTMLElement): TimeAxis {
  return { handled: Number(dataset.handled), end: Number(dataset.end), boundary: Number(dataset.boundary) }
}
