import { closestTo, createElement } from './browser.ts'
import { enableCopying } from './controls.ts'
import { fetchPage, showDialog } from './page.ts'
import { enableValueTrees } from './value-tree.ts'

/**
 * Makes links of the timeline and of the trail open their item beside the page. Without scripts,
 * with a key for a new tab, or if the panel has no such item, they lead to the panel.
 */
export function enableDrawer(): void {
  document.addEventListener('click', event => {
    const link = closestTo<HTMLAnchorElement>(event, '#timeline .lines a, .trail a')
    if (link === null || event.ctrlKey || event.metaKey || event.shiftKey) return
    event.preventDefault()
    open(link).catch(() => location.assign(link.href))
  })
}

/** Escape closes the dialog, and the link has the focus again. @throws if there is no such item */
async function open({ hash, href }: HTMLAnchorElement): Promise<void> {
  const id = hash.slice(1)
  const url = new URL(href)
  // A panel may have several pages of rows.
  url.searchParams.set('find', id)
  const page = (await fetchPage(url.href)).document
  const item = page.getElementById(id)
  const details = item?.querySelector<HTMLDetailsElement>(':scope.item > details')
  if (!item || !details) throw new Error('The panel has no such item.')
  details.open = true
  for (const link of item.querySelectorAll('a')) link.href = new URL(link.getAttribute('href') ?? '', href).href
  const label = String(page.querySelector('#panel > h2')?.textContent)
  const close = createElement('button', { class: 'button small' }, 'Close')
  const head = createElement('p', {}, createElement('a', { href }, label), close)
  const list = createElement('ol', { class: item.closest('.items')?.className })
  const dialog = createElement('dialog', { class: 'drawer panel', 'aria-label': label }, head, list)
  list.append(item)
  close.addEventListener('click', () => dialog.close())
  showDialog(dialog)
  enableCopying(dialog)
  enableValueTrees(dialog)
}
