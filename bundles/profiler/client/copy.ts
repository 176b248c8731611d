/** Milliseconds that the result is shown on the button. */
const shownFor = 1500

/**
 * Makes `<button data-copy="id" hidden>` copy the text of the element with that id. The button is shown only with
 * scripts.
 */
export function enableCopying(root: ParentNode): void {
  for (const button of root.querySelectorAll<HTMLButtonElement>('button[data-copy]')) {
    const source = document.getElementById(String(button.dataset.copy))
    if (source === null) continue
    const label = button.textContent
    const showResult = (text: string) => {
      button.textContent = text
      setTimeout(() => {
        button.textContent = label
      }, shownFor)
    }
    button.hidden = false
    button.addEventListener('click', () => {
      navigator.clipboard.writeText(String(source.textContent)).then(
        () => showResult('Copied'),
        () => showResult('Not allowed'),
      )
    })
  }
}
