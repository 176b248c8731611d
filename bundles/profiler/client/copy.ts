/** Makes `<button data-copy="id" hidden>` copy the text of the element of that id; without scripts there is no button. */
export function enableCopying(root: ParentNode): void {
  for (const button of root.querySelectorAll<HTMLButtonElement>('button[data-copy]')) {
    const source = document.getElementById(String(button.dataset.copy))
    if (source === null) continue
    const label = button.textContent
    const tell = (text: string) => {
      button.textContent = text
      setTimeout(() => {
        button.textContent = label
      }, 1500)
    }
    button.hidden = false
    button.addEventListener('click', () => {
      navigator.clipboard.writeText(source.textContent ?? '').then(
        () => tell('Copied'),
        () => tell('Not allowed'),
      )
    })
  }
}
