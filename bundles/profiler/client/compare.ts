/** Lets two records be selected: a third takes the place of the one that was selected first. */
export function keepTwoSelected(results: HTMLElement): void {
  const bar = results.querySelector<HTMLElement>('.compare-bar')
  const text = bar?.querySelector('p')
  const button = bar?.querySelector('button')
  if (!bar || !text || !button) return
  const boxes = [...results.querySelectorAll<HTMLInputElement>('.select input')]
  let selected = boxes.filter(({ checked }) => checked)
  const tell = () => {
    text.textContent = selected.length === 2 ? '2 selected' : '1 selected: select another one, and'
    button.disabled = selected.length !== 2
  }
  for (const box of boxes) {
    box.addEventListener('change', () => {
      selected = box.checked ? [...selected, box] : selected.filter(other => other !== box)
      for (const extra of selected.splice(0, selected.length - 2)) extra.checked = false
      tell()
    })
  }
  tell()
}
