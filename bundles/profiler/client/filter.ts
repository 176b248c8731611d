import { createElement } from './create-element.ts'
import { RowFilter } from './row-filter.ts'

/**
 * Lets `<input data-filter="id" hidden>` filter the rows of the element of that id as one types: its table rows, or the
 * children of a list. Beside it a `<select>`, a radio button or a checkbox may do so too, by what rows say in the `data-`
 * attribute of its name: see {@link RowFilter}. Without scripts a form of such controls is sent; with them its button
 * goes, and the address follows.
 */
export function enableFiltering(root: ParentNode): void {
  const controls = [...root.querySelectorAll<HTMLInputElement | HTMLSelectElement>('[data-filter]')]
  for (const id of new Set(controls.map(({ dataset }) => String(dataset.filter)))) {
    const target = document.getElementById(id)
    if (target === null) continue
    connect(
      controls.filter(({ dataset }) => dataset.filter === id),
      target,
    )
  }
}

function connect(controls: readonly (HTMLInputElement | HTMLSelectElement)[], target: HTMLElement): void {
  const filter = new RowFilter(controls, target)
  const status = createElement('span', { class: 'found', role: 'status' })
  const apply = () => {
    const { found, isFiltering, total } = filter.apply()
    status.textContent = isFiltering ? `${found} of ${total}` : ''
  }
  for (const control of controls) {
    control.hidden = false
    control.addEventListener('input', () => {
      apply()
      if (control.form !== null) rememberInAddress(control.form)
    })
    if (control.matches('select, [type="radio"], [type="checkbox"]')) continue
    // Within the label it would be a part of the control's name.
    const place = control.closest('label') ?? control
    place.after(status)
    control.addEventListener('keydown', event => {
      if (!(event instanceof KeyboardEvent) || event.key !== 'Escape' || control.value === '') return
      event.preventDefault()
      control.value = ''
      control.dispatchEvent(new Event('input', { bubbles: true }))
    })
  }
  takeOver(controls[0]?.form ?? null)
  apply()
  // What comes later, as in a live list, is filtered as well.
  new MutationObserver(apply).observe(target, { childList: true, subtree: true })
}

/** Nothing is left for the form to be sent for. */
function takeOver(form: HTMLFormElement | null): void {
  if (form === null) return
  form.addEventListener('submit', event => event.preventDefault())
  for (const button of form.querySelectorAll('button')) button.hidden = true
}

/** Whoever loads the page again, or sends its address to somebody, finds it as it is. */
function rememberInAddress(form: HTMLFormElement): void {
  // That of a record, also where its page was asked for as the latest one.
  const url = new URL(form.action)
  const fields = [...new FormData(form)].filter((field): field is [string, string] => field[1] !== '')
  url.search = new URLSearchParams(fields).toString()
  history.replaceState(history.state, '', url)
}
