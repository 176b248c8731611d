import { recall, remember } from './memory.ts'

interface Choice {
  readonly threshold: string
  /** The categories that are not wanted. */
  readonly hidden: readonly string[]
}

/** Filters the rows of a timeline at once and remembers how; tells more of the row that is pointed at or has the focus. */
export function enableTimeline(form: HTMLFormElement | null): void {
  const select = form?.querySelector('select')
  if (!form || !select) return
  const boxes = [...form.querySelectorAll<HTMLInputElement>('input[name="show"]')]
  const rows = [...form.querySelectorAll<HTMLTableRowElement>('.lines tr')]
  const apply = () => filter(form, rows, boxes, select)

  const asked = new URLSearchParams(location.search)
  if (!asked.has('threshold') && !asked.has('show')) {
    const { hidden, threshold } = readChoice()
    select.value = threshold
    for (const box of boxes) box.checked = !hidden.includes(box.value)
  }
  form.querySelector<HTMLButtonElement>('button[type="submit"]')?.setAttribute('hidden', '')
  form.addEventListener('change', () => {
    apply()
    const hidden = new Set(readChoice().hidden)
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
  const unwanted = boxes.filter(({ checked }) => !checked).map(({ value }) => `of-${value}`)
  let folded = 0
  for (const row of rows) {
    const isWhole = row.classList.contains('of-whole')
    const isFolded = !isWhole && Number(row.dataset.us) < threshold
    if (isFolded) folded++
    row.hidden = isFolded || (!isWhole && unwanted.some(name => row.classList.contains(name)))
  }
  const told = form.querySelector('[data-folded]')
  if (told) told.textContent = folded === 0 ? '' : `${folded} rows are below the threshold.`
}

/** What was chosen last, on whatever record. */
function readChoice(): Choice {
  try {
    const { hidden, threshold } = JSON.parse(recall('timeline') ?? '{}')
    return { threshold: String(threshold ?? ''), hidden: Array.isArray(hidden) ? hidden.map(String) : [] }
  } catch {
    return { threshold: '', hidden: [] }
  }
}

/** Tells more of a row in a line below the chart; readers of the table have all of it in the table. */
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

/** The arrow keys lead from row to row. */
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
