import { createElement, fetchPage } from './browser.ts'

/** The page that waits for a request to be sampled opens its profile then. */
export function followSample(waiting: HTMLElement | null): void {
  if (waiting === null) return
  const source = new EventSource(waiting.dataset.armed ?? '')
  const check = async () => {
    const { document: page } = await fetchPage(location.href)
    if (page.querySelector('[data-armed]') !== null) return
    const link = page.querySelector<HTMLAnchorElement>('[data-sampled]')?.getAttribute('href')
    // Another process may have sampled the request: then only the page changes.
    if (!link) {
      source.close()
      location.reload()
      return
    }
    // While the request is handled, it has no profile.
    const url = new URL(link, location.href).href
    await fetchPage(url)
    source.close()
    location.assign(url)
  }
  const tryCheck = () => void check().catch(() => undefined)
  for (const type of ['open', 'profiles', 'reload']) source.addEventListener(type, tryCheck)
}

/**
 * Makes a flame graph usable with the arrow keys, as one stop of the Tab key, and shows details of the frame that has the
 * focus or is below the pointer.
 */
export function enableFlameGraph(graph: SVGSVGElement | null): void {
  const bars = [...(graph?.querySelectorAll<SVGAElement>('a') ?? [])]
  if (graph === null || bars.length === 0) return
  addSearch(graph, bars)
  let current = 0
  const moveTabStop = (index: number) => {
    bars[current]?.setAttribute('tabindex', '-1')
    bars[index]?.setAttribute('tabindex', '0')
    current = index
  }
  for (const bar of bars) bar.setAttribute('tabindex', '-1')
  moveTabStop(0)
  graph.addEventListener('keydown', event => {
    const next = neighbourOf(bars, current, event.key)
    if (next === undefined || event.altKey || event.ctrlKey || event.metaKey) return
    event.preventDefault()
    bars[next]?.focus()
  })
  const detail = document.querySelector<HTMLElement>('.flame-detail')
  for (const [index, bar] of bars.entries()) {
    const showDetail = () => {
      if (!detail) return
      detail.hidden = false
      detail.textContent = bar.getAttribute('aria-label')
    }
    bar.addEventListener('focus', () => {
      moveTabStop(index)
      showDetail()
    })
    bar.addEventListener('pointerenter', showDetail)
  }
}

/** Adds a field that highlights the frames whose name or place contains a text, and shows their share. */
function addSearch(graph: SVGSVGElement, bars: readonly SVGAElement[]): void {
  const field = createElement('input', {
    type: 'search',
    'aria-label': 'Search frames',
    placeholder: 'Search frames',
    'data-key': '/',
    autocomplete: 'off',
    spellcheck: 'false',
  })
  const status = createElement('span', { class: 'found', role: 'status' })
  field.addEventListener('input', () => {
    const text = field.value.trim().toLowerCase()
    const found = bars.map(bar => text !== '' && bar.getAttribute('aria-label')?.toLowerCase().includes(text) === true)
    for (const [index, bar] of bars.entries()) bar.classList.toggle('is-match', found[index])
    graph.classList.toggle('is-searching', text !== '')
    // A frame within another one that matches is a part of it.
    const share = bars.reduce((sum, bar, index) => {
      let parent = Number(bar.dataset.parent)
      while (parent !== -1 && !found[parent]) parent = Number(bars[parent]?.dataset.parent)
      const isOutermost = found[index] === true && parent === -1
      return sum + (isOutermost ? Number.parseFloat(bar.querySelector('svg')?.getAttribute('width') ?? '0') : 0)
    }, 0)
    const count = found.filter(Boolean).length
    status.textContent = text === '' ? '' : `${count} ${count === 1 ? 'frame' : 'frames'}, ${share.toFixed(1)} %`
  })
  document.querySelector('.flame-head')?.append(createElement('div', { class: 'flame-search' }, field, status))
}

/** The index of the bar that a key moves to: the caller, the first call, or the neighbour with the same caller. */
function neighbourOf(bars: readonly SVGAElement[], index: number, key: string): number | undefined {
  const parentOf = (bar: SVGAElement | undefined) => Number(bar?.dataset.parent)
  const parent = parentOf(bars[index])
  const siblings = [...bars.keys()].filter(other => parentOf(bars[other]) === parent)
  const place = siblings.indexOf(index)
  if (key === 'ArrowUp') return parent === -1 ? undefined : parent
  if (key === 'ArrowDown') {
    const child = bars.findIndex(bar => parentOf(bar) === index)
    return child === -1 ? undefined : child
  }
  if (key === 'ArrowLeft') return siblings[place - 1]
  if (key === 'ArrowRight') return siblings[place + 1]
  return undefined
}
