import { closestTo, createElement } from './browser.ts'
import { fetchPage, fieldsOf } from './page.ts'
import {
  fitWindow,
  formatTick,
  listTicks,
  type TimeAxis,
  type TimeWindow,
  toMoment,
  toPosition,
  wholeWindow,
} from './time-axis.ts'

/** Milliseconds after the last change before the URL follows, and missing rows are loaded. */
const debounce = 200

/**
 * Makes a timeline interactive: it is filtered without a request, zoomed with the pointer, the
 * wheel and the keyboard, and shows details of the row that has the focus or is below the pointer.
 * The URL follows, so a shared link shows the same.
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
    const fields = fieldsOf(this.#form).filter(([name]) => !(name === 'show' && isAll))
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
    const kind = this.#form.querySelector(`.kinds .${row.classList[0]}`)
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

/** A shorter movement of the pointer is a click, in pixels. */
const leastDrag = 4

/** How much a step of the wheel zooms. */
const wheelSpeed = 0.002

/**
 * Zooms the pictures of a chart, which have percents as coordinates: by dragging over the ruler or
 * the bars, and by the wheel with Ctrl, as pinching on a touchpad reports it. The ruler follows,
 * and a line shows the time below the pointer.
 */
class TimelineZoom {
  readonly #chart: HTMLElement
  readonly #axis: TimeAxis
  readonly #from: HTMLInputElement
  readonly #to: HTMLInputElement
  readonly #onChange: () => void
  readonly #cursor = createSvg('line', { class: 'cursor', y2: '100%' })
  readonly #time = createSvg('text', { class: 'cursor', y: '28', dx: '4' })
  readonly #selection = createSvg('rect', { class: 'selection' })
  #window: TimeWindow

  /** The fields get the visible part in milliseconds, and are empty for the whole axis. */
  constructor(chart: HTMLElement, axis: TimeAxis, from: HTMLInputElement, to: HTMLInputElement, onChange: () => void) {
    this.#chart = chart
    this.#axis = axis
    this.#from = from
    this.#to = to
    this.#onChange = onChange
    this.#window = readWindow(axis, from.value, to.value)
    chart.addEventListener('pointermove', event => this.#showTime(event))
    chart.addEventListener('pointerleave', () => this.#hideTime())
    chart.addEventListener('pointerdown', event => this.#drag(event))
    chart.addEventListener('wheel', event => this.#onWheel(event), { passive: false })
    if (this.isZoomed) this.draw()
  }

  /** Whether a part of the axis is visible only. */
  get isZoomed(): boolean {
    return this.#window.to - this.#window.from < 100
  }

  /** Shows the whole axis. */
  reset(): void {
    this.#show(wholeWindow)
  }

  /** Makes the visible part longer or shorter by a factor; the position in it, from 0 to 1, stays where it is. */
  scale(factor: number, at = 0.5): void {
    const { from, to } = this.#window
    const width = Math.min(100, (to - from) * factor)
    const start = Math.max(0, Math.min(100 - width, from + (to - from) * at - width * at))
    this.#show({ from: start, to: start + width })
  }

  /** Moves the visible part by a share of its length. */
  pan(share: number): void {
    const { from, to } = this.#window
    const step = Math.max(-from, Math.min(100 - to, (to - from) * share))
    this.#show({ from: from + step, to: to + step })
  }

  /** Whether all bars of a row are outside of the visible part. */
  hides(row: Element): boolean {
    return [...row.querySelectorAll('rect')].every(bar => {
      const x = Number.parseFloat(bar.getAttribute('x') ?? '0')
      const end = x + Number.parseFloat(bar.getAttribute('width') ?? '0')
      return x > this.#window.to || end < this.#window.from
    })
  }

  /** Draws the pictures and the ruler; also for rows that are new. */
  draw(): void {
    const { from, to } = this.#window
    const scale = 100 / (to - from)
    for (const plot of this.#chart.querySelectorAll('.guides > svg, td > svg > svg')) {
      plot.setAttribute('x', `${-from * scale}%`)
      plot.setAttribute('width', `${100 * scale}%`)
    }
    for (const row of this.#chart.querySelectorAll('.lines tr')) row.classList.toggle('is-outside', this.hides(row))
    const ticks = listTicks(this.#axis, this.#window)
    this.#chart
      .querySelector('.guides .ticks')
      ?.replaceChildren(...ticks.map(({ x }) => createSvg('line', { x1: `${x}%`, x2: `${x}%`, y2: '100%' })))
    const labels = ticks.filter(({ label }) => label !== '')
    this.#chart
      .querySelector('.axis .ticks')
      ?.replaceChildren(...labels.map(({ label, x }) => createSvg('text', { x: `${x}%`, dx: '4', y: '12' }, label)))
    for (const label of this.#chart.querySelectorAll('.axis .end')) {
      // The attribute `hidden` has no effect in SVG.
      label.setAttribute('display', this.isZoomed ? 'none' : 'inline')
    }
  }

  #show(wanted: TimeWindow): void {
    const window = fitWindow(this.#axis, wanted)
    if (window.from === this.#window.from && window.to === this.#window.to) return
    this.#window = window
    this.#hideTime()
    this.draw()
    for (const [field, position] of [
      [this.#from, window.from],
      [this.#to, window.to],
    ] as const) {
      field.value = this.isZoomed ? String(Number((toMoment(this.#axis, position) / 1000).toFixed(3))) : ''
    }
    this.#onChange()
  }

  /** The position of the pointer in the visible part, from 0 to 1. */
  #shareOf({ clientX }: MouseEvent): number {
    const box = this.#chart.querySelector('.guides')?.getBoundingClientRect()
    return box === undefined || box.width === 0 ? 0 : Math.max(0, Math.min(1, (clientX - box.left) / box.width))
  }

  #toPosition(share: number): number {
    return this.#window.from + share * (this.#window.to - this.#window.from)
  }

  #showTime(event: MouseEvent): void {
    if (!isOverPlot(event)) {
      this.#hideTime()
      return
    }
    const share = this.#shareOf(event)
    const [x, { from, to }] = [`${100 * share}%`, this.#window]
    const [first, last] = [toMoment(this.#axis, from), toMoment(this.#axis, to)]
    const moment = toMoment(this.#axis, this.#toPosition(share))
    this.#time.textContent = formatTick(moment, last, (last - first) / 1000)
    this.#time.setAttribute('x', x)
    this.#time.setAttribute('text-anchor', share > 0.8 ? 'end' : 'start')
    this.#time.setAttribute('dx', share > 0.8 ? '-4' : '4')
    for (const name of ['x1', 'x2']) this.#cursor.setAttribute(name, x)
    this.#chart.querySelector('.guides')?.append(this.#cursor)
    this.#chart.querySelector('.axis svg')?.append(this.#time)
  }

  #hideTime(): void {
    this.#cursor.remove()
    this.#time.remove()
  }

  #drag(event: PointerEvent): void {
    // A touch scrolls the page.
    if (event.button !== 0 || event.pointerType === 'touch' || !isOverPlot(event)) return
    event.preventDefault()
    const start = this.#shareOf(event)
    const isFar = (now: MouseEvent) => Math.abs(now.clientX - event.clientX) >= leastDrag
    const onMove = (now: MouseEvent) => {
      if (!isFar(now)) return
      const share = this.#shareOf(now)
      this.#selection.setAttribute('x', `${100 * Math.min(start, share)}%`)
      this.#selection.setAttribute('width', `${100 * Math.abs(share - start)}%`)
      this.#chart.querySelector('.guides')?.append(this.#selection)
    }
    const stop = () => {
      this.#selection.remove()
      document.removeEventListener('pointermove', onMove)
      document.removeEventListener('pointerup', onEnd)
      document.removeEventListener('pointercancel', stop)
    }
    const onEnd = (now: MouseEvent) => {
      stop()
      if (!isFar(now)) return
      const [one, other] = [this.#toPosition(start), this.#toPosition(this.#shareOf(now))]
      this.#show({ from: Math.min(one, other), to: Math.max(one, other) })
    }
    document.addEventListener('pointermove', onMove)
    document.addEventListener('pointerup', onEnd)
    document.addEventListener('pointercancel', stop)
  }

  #onWheel(event: WheelEvent): void {
    const { ctrlKey, deltaX, deltaY } = event
    const isSideways = this.isZoomed && Math.abs(deltaX) > Math.abs(deltaY)
    if ((!ctrlKey && !isSideways) || !isOverPlot(event)) return
    event.preventDefault()
    if (ctrlKey) this.scale(Math.exp(wheelSpeed * deltaY), this.#shareOf(event))
    else this.pan(deltaX / 1000)
  }
}

/** Whether the pointer is over the bars or the ruler, and not over a link. */
function isOverPlot({ target }: Event): boolean {
  if (!(target instanceof Element) || target.closest('a') !== null) return false
  return target.closest('.axis, .chart td:nth-child(2)') !== null
}

function readWindow(axis: TimeAxis, from: string, to: string): TimeWindow {
  if (from === '' || to === '') return wholeWindow
  const [start, end] = [from, to].map(text => toPosition(axis, 1000 * Number(text))) as [number, number]
  return fitWindow(axis, { from: start, to: end })
}

function createSvg(name: string, attributes: Readonly<Record<string, string>>, text = ''): SVGElement {
  const element = document.createElementNS('http://www.w3.org/2000/svg', name) as SVGElement
  for (const [attribute, value] of Object.entries(attributes)) element.setAttribute(attribute, value)
  element.textContent = text
  return element
}
