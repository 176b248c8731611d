/** Milliseconds that the result is shown on the button. */
const shownFor = 1500

/**
 * Makes `<button data-copy="id" hidden>` copy the text of the element with that id, and `<button data-text="…" hidden>` its
 * own text. The buttons are shown only with scripts.
 */
export function enableCopying(root: ParentNode): void {
  for (const button of root.querySelectorAll<HTMLButtonElement>('button:is([data-copy], [data-text])')) {
    const { copy = '', text } = button.dataset
    const source = document.getElementById(copy)
    if (text === undefined && source === null) continue
    button.hidden = false
    button.addEventListener('click', () => copyText(button, text ?? source?.textContent ?? ''))
  }
}

/** The labels of buttons that show a result. */
const labels = new WeakMap<HTMLElement, string>()

/** Copies a text, and shows the result on the button for a moment. */
export function copyText(button: HTMLElement, text: string): void {
  const label = labels.get(button) ?? String(button.textContent)
  labels.set(button, label)
  const showResult = (result: string) => {
    button.textContent = result
    setTimeout(() => {
      button.textContent = label
    }, shownFor)
  }
  navigator.clipboard.writeText(text).then(
    () => showResult('Copied'),
    () => showResult('Not allowed'),
  )
}
