import { createElement, fetchPage } from './browser.ts'

/**
 * Makes the event tree easier to search. `<input data-tree-filter="id" hidden>` filters the tree with that id: it shows
 * the rows that contain the text, with their ancestors and descendants. Events of sub-requests can be opened in place.
 */
export function enhanceEventTree(root: ParentNode): void {
  for (const input of root.querySelectorAll<HTMLInputElement>('input[data-tree-filter]')) {
    const tree = document.getElementById(input.dataset.treeFilter ?? '')
    if (tree === null) continue
    input.hidden = false
    input.addEventListener('input', () => filter(tree, input.value.trim().toLowerCase()))
    offerSubRequests(tree)
  }
}

function filter(tree: Element, text: string): void {
  for (const row of tree.querySelectorAll('li')) {
    // The text of a row includes its descendants: the ancestors of a match are matches.
    row.hidden = !String(row.textContent).toLowerCase().includes(text) && !hasMatchAbove(row, tree, text)
    if (text !== '' && !row.hidden) for (const details of row.querySelectorAll(':scope > details')) open(details)
  }
}

/** Whether an ancestor matches by its own name: the listeners of a matching event are shown. */
function hasMatchAbove(row: Element, tree: Element, text: string): boolean {
  for (let above = row.parentElement; above !== null && above !== tree; above = above.parentElement) {
    const line = above.matches('li') ? above.querySelector(':scope > details > summary > .name') : null
    if (line?.textContent?.toLowerCase().includes(text)) return true
  }
  return false
}

function open(details: Element): void {
  if (details instanceof HTMLDetailsElement) details.open = true
}

function offerSubRequests(tree: Element): void {
  for (const link of tree.querySelectorAll<HTMLAnchorElement>('.node-request > .span .name a')) {
    const button = createElement('button', { class: 'button small' })
    let inner: Element | undefined
    let isRequested = false
    const show = (isOpen: boolean) => {
      inner?.toggleAttribute('hidden', !isOpen)
      button.textContent = isOpen ? 'Close' : 'Open here'
      button.setAttribute('aria-expanded', String(isOpen))
    }
    const load = async () => {
      inner = await fetchTree(link.href)
      button.closest('li')?.append(inner)
      show(true)
    }
    show(false)
    button.addEventListener('click', () => {
      if (inner !== undefined) show(inner.hasAttribute('hidden'))
      if (isRequested) return
      isRequested = true
      load().catch(() => {
        button.textContent = 'Not found'
      })
    })
    link.after(' ', button)
  }
}

/** Loads the event tree of another profile. Its links become absolute, and its ids are removed: this page has the same ids. */
async function fetchTree(url: string): Promise<Element> {
  const page = await fetchPage(url)
  const tree = page.document.getElementById('event-tree')
  if (tree === null) throw new Error('The profile has no events.')
  for (const link of tree.querySelectorAll('a')) link.href = new URL(link.getAttribute('href') ?? '', url).href
  for (const element of tree.querySelectorAll('[id]')) element.removeAttribute('id')
  tree.removeAttribute('id')
  tree.classList.add('embedded')
  offerSubRequests(tree)
  return tree
}
