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

/** A shorter movement of the pointer is a click, in pixels. */
const leastDrag = 4

/** How much a step of the wheel zooms. */
const wheelSpeed = 0.002

/**
 * Zooms the pictures of a chart, which have percents as coordinates: by dragging over the ruler or the bars, and by the wheel
 * with Ctrl, as pinching on a touchpad reports it. The ruler follows, and a line shows the time below the pointer.
 */
export class TimelineZoom {
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
