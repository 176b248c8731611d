const open = 'Expand all'
const close = 'Collapse all'

/** Makes `<button data-unfold="id" hidden>` open and close all details of the element with that id. */
export function enableUnfolding(root: ParentNode): void {
  for (const button of root.querySelectorAll<HTMLElement>('button[data-unfold]')) {
    const target = document.getElementById(button.dataset.unfold ?? '')
    if (!target?.querySelector('details')) continue
    button.hidden = false
    unfoldBy(button, target)
  }
}

/** Opens the page of the rows that has the element of the address, such as `#log-4`. */
export function findRow(): void {
  const id = location.hash.slice(1)
  const address = new URL(location.href)
  const isSearched = address.searchParams.get('find') === id
  if (id === '' || isSearched || document.querySelector('[data-rows]') === null || document.getElementById(id) !== null)
    return
  address.searchParams.set('find', id)
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
