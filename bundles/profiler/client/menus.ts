/**
 * Makes `<details data-menu>` a menu: it closes with the Escape key, by a click elsewhere, and when the focus leaves it.
 */
export function enableMenus(root: ParentNode): void {
  const closeOthers = ({ target }: Event) => {
    for (const menu of findOpen(root)) if (!(target instanceof Node && menu.contains(target))) menu.open = false
  }
  document.addEventListener('click', closeOthers)
  document.addEventListener('focusin', closeOthers)
  document.addEventListener('keydown', event => {
    if (event.key !== 'Escape' || event.defaultPrevented) return
    for (const menu of findOpen(root)) {
      const hasFocus = menu.contains(document.activeElement)
      menu.open = false
      if (hasFocus) menu.querySelector('summary')?.focus()
    }
  })
}

function findOpen(root: ParentNode): HTMLDetailsElement[] {
  return [...root.querySelectorAll<HTMLDetailsElement>('details[data-menu][open]')]
}

/** Scrolls a strip of tabs, which narrow screens have, so that the current one is in sight. The page does not move. */
export function showCurrentTab(strip: HTMLElement | null): void {
  const current = strip?.querySelector<HTMLElement>('[aria-current]')
  if (!strip || !current) return
  const { left, width } = current.getBoundingClientRect()
  const { left: begin, width: room } = strip.getBoundingClientRect()
  strip.scrollLeft += left - begin - (room - width) / 2
}
