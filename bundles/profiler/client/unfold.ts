const open = 'Expand all'
const close = 'Collapse all'

/** Makes `<button data-unfold="id" hidden>` open and close all details of the element with that id. */
export function enableUnfolding(root: ParentNode): void {
  for (const button of root.querySelectorAll<HTMLElement>('button[data-unfold]')) {
    const target = document.getElementById(String(button.dataset.unfold))
    if (!target?.querySelector('details')) continue
    button.hidden = false
    unfoldBy(button, target)
  }
}

/** Opens the page of the log that has the message of the address, `#log-4`: the panel may have several pages. */
export function findLogMessage(): void {
  const [id, index = ''] = /^#log-(\d+)$/.exec(location.hash) ?? []
  const address = new URL(location.href)
  const isSearched = address.searchParams.get('log') === index
  if (
    id === undefined ||
    isSearched ||
    document.querySelector('.paging') === null ||
    document.querySelector(id) !== null
  )
    return
  address.searchParams.set('log', index)
  location.replace(address)
}

/** Makes a button open and close all details of an element. */
export function unfoldBy(button: HTMLElement, target: HTMLElement): void {
  button.textContent = open
  button.addEventListener('click', () => {
    const isOpen = button.textContent === open
    for (const details of target.querySelectorAll('details')) details.open = isOpen
    button.textContent = isOpen ? close : open
  })
}
