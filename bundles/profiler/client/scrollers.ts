const candidates = 'main :is(section, div, pre, ol, ul, details)'
const focusable = 'a[href], button, input, select, textarea, summary, [tabindex]'

/** Lets the keyboard reach what scrolls by itself and has nothing else to reach; not every browser does so on its own. */
export function reachScrollers(): void {
  const update = () => {
    for (const element of document.querySelectorAll<HTMLElement>(candidates)) {
      const isReached = element.hasAttribute('tabindex')
      if (!isReached && scrolls(element)) reach(element)
      if (isReached && element.dataset.scroller !== undefined && !scrolls(element)) element.removeAttribute('tabindex')
    }
  }
  // At once, and whenever something becomes narrower, longer, or is unfolded.
  new ResizeObserver(update).observe(document.body)
  document.addEventListener('toggle', update, true)
}

function scrolls(element: HTMLElement): boolean {
  const isTooSmall = element.scrollWidth > element.clientWidth || element.scrollHeight > element.clientHeight
  if (!isTooSmall || element.querySelector(focusable) !== null) return false
  const { overflowX, overflowY } = getComputedStyle(element)
  return /auto|scroll/.test(overflowX + overflowY)
}

function reach(element: HTMLElement): void {
  element.tabIndex = 0
  element.dataset.scroller = ''
  // A list stays one.
  if (element.matches('ol, ul, [aria-label], [aria-labelledby]')) return
  const heading = 'h2, h3, h4, summary'
  const named = element.querySelector(heading) ?? element.closest('section, details')?.querySelector(heading)
  element.setAttribute('role', 'region')
  element.setAttribute('aria-label', named?.textContent ?? 'Scrolls')
}
