import { createElement } from './create-element.ts'
import { fetchPage } from './fetch-page.ts'

/**
 * Makes the event tree easier to search: `<input data-tree-filter="id" hidden>` leaves of that list what has the text
 * that is typed, with the way to it; and the events of sub-requests can be opened in their place.
 */
export function enhanceEventTree(root: ParentNode): void {
  for (const input of root.querySelectorAll<HTMLInputElement>('input[data-tree-filter]')) {
    const tree = document.getElementById(String(input.dataset.treeFilter))
    if (tree === null) continue
    input.hidden = false
    input.addEventListener('input', () => filter(tree, input.value.trim().toLowerCase()))
    offerSubRequests(tree)
  }
}

function filter(tree: Element, text: string): void {
  for (const row of tree.querySelectorAll('li')) {
    // What a row contains is part of its text: whoever leads to a match is a match.
    row.hidden = !String(row.textContent).toLowerCase().includes(text) && !hasMatchAbove(row, tree, text)
    if (text !== '' && !row.hidden) for (const details of row.querySelectorAll(':scope > details')) open(details)
  }
}

/** Of an event that is named, its listeners are wanted, too. */
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
    let isAsked = false
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
      if (isAsked) return
      isAsked = true
      load().catch(() => {
        button.textContent = 'Not found'
      })
    })
    link.after(' ', button)
  }
}

/** The event tree of another record; its links lead to that one, and its rows are not what this page's links mean. */
async function fetchTree(url: string): Promise<Element> {
  const page = await fetchPage(url)
  const tree = page.document.getElementById('event-tree')
  if (tree === null) throw new Error('There are no events.')
  for (const link of tree.querySelectorAll('a')) link.href = new URL(String(link.getAttribute('href')), url).href
  for (const element of tree.querySelectorAll('[id]')) element.removeAttribute('id')
  tree.removeAttribute('id')
  tree.classList.add('embedded')
  offerSubRequests(tree)
  return tree
}
