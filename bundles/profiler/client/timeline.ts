import { recall, remember } from './browser.ts'

interface StoredFilter {
  readonly threshold: string
  /** The categories that are not shown. */
  readonly hidden: readonly string[]
}

/**
 * Filters the rows of a timeline without a request, and stores the filter. Shows details of the row that has the focus or
 * is below the pointer; the arrow keys move between rows.
 */
export function enableTimeline(form: HTMLFormElement | null): void {
  const select = form?.querySelector('select')
  if (!form || !select) return
  const boxes = [...form.querySelectorAll<HTMLInputElement>('input[name="show"]')]
  const rows = [...form.querySelectorAll<HTMLTableRowElement>('.lines tr')]
  const apply = () => filter(form, rows, boxes, select)

  const query = new URLSearchParams(location.search)
  if (!query.has('threshold') && !query.has('show')) {
    const { hidden, threshold } = readFilter()
    select.value = threshold
    for (const box of boxes) box.checked = !hidden.includes(box.value)
  }
  form.querySelector<HTMLButtonElement>('button[type="submit"]')?.setAttribute('hidden', '')
  form.addEventListener('change', () => {
    apply()
    const hidden = new Set(readFilter().hidden)
    for (const box of boxes) {
      if (box.checked) hidden.delete(box.value)
      else hidden.add(box.value)
    }
    remember('timeline', JSON.stringify({ threshold: select.value, hidden: [...hidden] }))
  })
  apply()
  describe(form, rows)
  move(form, rows)
}

function filter(
  form: HTMLFormElement,
  rows: readonly HTMLTableRowElement[],
  boxes: readonly HTMLInputElement[],
  select: HTMLSelectElement,
): void {
  const threshold = 1000 * (select.value === '' ? Number(select.dataset.fitting) : Number(select.value))
  const hidden = boxes.filter(({ checked }) => !checked).map(({ value }) => `of-${value}`)
  let folded = 0
  for (const row of rows) {
    const isWhole = row.classList.contains('of-whole')
    const isFolded = !isWhole && Number(row.dataset.us) < threshold
    if (isFolded) folded++
    row.hidden = isFolded || (!isWhole && hidden.some(name => row.classList.contains(name)))
  }
  const note = form.querySelector('[data-folded]')
  if (note) note.textContent = folded === 0 ? '' : `${folded} rows are shorter than the threshold.`
}

/** The filter of the last timeline, of any profile. */
function readFilter(): StoredFilter {
  try {
    const { hidden, threshold } = JSON.parse(recall('timeline') ?? '{}')
    return { threshold: String(threshold ?? ''), hidden: Array.isArray(hidden) ? hidden.map(String) : [] }
  } catch {
    return { threshold: '', hidden: [] }
  }
}

/** Shows details of a row in a line below the chart. The table itself has the same texts for screen readers. */
function describe(form: HTMLFormElement, rows: readonly HTMLTableRowElement[]): void {
  const line = form.querySelector<HTMLElement>('.timeline-detail')
  if (line === null) return
  for (const row of rows) {
    const show = () => {
      const [name, when, duration, own] = row.cells
      const kind = form.querySelector(`.lanes .${row.classList[0]} th`)
      const ownTime = own?.textContent && `own ${own.textContent}`
      line.textContent = [name, kind, when, duration]
        .map(part => part?.textContent?.trim())
        .concat(ownTime)
        .filter(Boolean)
        .join(' · ')
      line.hidden = false
    }
    row.addEventListener('pointerenter', show)
    row.addEventListener('focusin', show)
  }
}

/** The arrow keys move the focus from row to row. */
function move(form: HTMLFormElement, rows: readonly HTMLTableRowElement[]): void {
  form.querySelector('.lines')?.addEventListener('keydown', event => {
    const step = event instanceof KeyboardEvent && { ArrowDown: 1, ArrowUp: -1 }[event.key]
    const shown = rows.filter(row => !row.hidden)
    const at = shown.findIndex(row => row.contains(document.activeElement))
    const next = step && at !== -1 ? shown[at + step] : undefined
    if (next === undefined) return
    event.preventDefault()
    next.querySelector<HTMLElement>('th :is(a, [tabindex])')?.focus()
  })
}
