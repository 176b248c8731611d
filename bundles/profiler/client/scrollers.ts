const candidates = 'main :is(section, div, pre, ol, ul, details)'
const focusable = 'a[href], button, input, select, textarea, summary, [tabindex]'

/**
 * Makes scrollable elements without focusable content reachable by keyboard. Not every browser does this by itself.
 */
export function enableScrollers(): void {
  const update = () => {
    for (const element of document.querySelectorAll<HTMLElement>(candidates)) {
      const isReachable = element.hasAttribute('tabindex')
      if (!isReachable && scrolls(element)) makeReachable(element)
      if (isReachable && element.dataset.scroller !== undefined && !scrolls(element))
        element.removeAttribute('tabindex')
    }
  }
  // Now, and on each change of the size or of an open detail.
  new ResizeObserver(update).observe(document.body)
  document.addEventListener('toggle', update, true)
}

function scrolls(element: HTMLElement): boolean {
  const isTooSmall = element.scrollWidth > element.clientWidth || element.scrollHeight > element.clientHeight
  if (!isTooSmall || element.querySelector(focusable) !== null) return false
  const { overflowX, overflowY } = getComputedStyle(element)
  return /auto|scroll/.test(overflowX + overflowY)
}

function makeReachable(element: HTMLElement): void {
  element.tabIndex = 0
  element.dataset.scroller = ''
  // A list keeps its role.
  if (element.matches('ol, ul, [aria-label], [aria-labelledby]')) return
  const heading = 'h2, h3, h4, summary'
  const named = element.querySelector(heading) ?? element.closest('section, details')?.querySelector(heading)
  element.setAttribute('role', 'group')
  element.setAttribute('aria-label', named?.textContent ?? 'Scrollable content')
}
