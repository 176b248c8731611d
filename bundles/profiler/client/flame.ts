/** Lets the arrow keys lead through a flame graph, which is one stop of the Tab key then, and tells more of the call that is pointed at. */
export function enableFlameGraph(graph: SVGSVGElement | null): void {
  const bars = [...(graph?.querySelectorAll<SVGAElement>('a') ?? [])]
  if (graph === null || bars.length === 0) return
  let current = 0
  const stop = (index: number) => {
    bars[current]?.setAttribute('tabindex', '-1')
    bars[index]?.setAttribute('tabindex', '0')
    current = index
  }
  for (const bar of bars) bar.setAttribute('tabindex', '-1')
  stop(0)
  graph.addEventListener('keydown', event => {
    const next = neighbourOf(bars, current, event.key)
    if (next === undefined || event.altKey || event.ctrlKey || event.metaKey) return
    event.preventDefault()
    bars[next]?.focus()
  })
  const detail = document.querySelector<HTMLElement>('.flame-detail')
  for (const [index, bar] of bars.entries()) {
    const tell = () => {
      if (!detail) return
      detail.hidden = false
      detail.textContent = bar.getAttribute('aria-label')
    }
    bar.addEventListener('focus', () => {
      stop(index)
      tell()
    })
    bar.addEventListener('pointerenter', tell)
  }
}

/** The bar that a key leads to: the caller, the first call that it has made, or the one beside it. */
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
