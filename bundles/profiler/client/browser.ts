/** A child of an element: another element, or a text. */
type Child = Node | string

/** Creates an element. Attributes that are `undefined` are not set. */
export function createElement<name extends keyof HTMLElementTagNameMap>(
  name: name,
  attributes: Readonly<Record<string, string | undefined>> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[name] {
  const element = document.createElement(name)
  for (const [attribute, value] of Object.entries(attributes)) {
    if (value !== undefined) element.setAttribute(attribute, value)
  }
  element.append(...children)
  return element
}

/** The target of an event, or the nearest element around it, that matches; `null` without one. */
export function closestTo<element extends Element = HTMLElement>({ target }: Event, selector: string): element | null {
  return target instanceof Element ? target.closest<element>(selector) : null
}

const keys = {
  /** `light` or `dark`; nothing for the theme of the system. */
  theme: 'profiler-theme',
  /** `folded` or `open`. */
  toolbar: 'profiler-toolbar',
  /** The name of the editor that opens places; nothing if the server opens them. */
  editor: 'profiler-editor',
  /** The recent choices of the palette, as JSON. */
  palette: 'profiler-palette',
} as const

/** A choice that is stored for all pages of this origin. */
type Choice = keyof typeof keys

/** The stored choice; `null` without one, or when the browser forbids storage. */
export function recall(choice: Choice): string | null {
  try {
    return localStorage.getItem(keys[choice])
  } catch {
    return null
  }
}

/** Stores a choice, if the browser allows it. */
export function remember(choice: Choice, text: string): void {
  try {
    localStorage.setItem(keys[choice], text)
  } catch {
    // A page may have no access to storage.
  }
}

/** Milliseconds that the result of a copy is shown on its button. */
const shownFor = 1500

/** The labels of buttons that show a result. */
const ownLabels = new WeakMap<HTMLElement, string>()

/** Copies a text, and shows the result on the button for a moment. */
export function copyText(button: HTMLElement, text: string): void {
  const label = ownLabels.get(button) ?? String(button.textContent)
  ownLabels.set(button, label)
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

/** Writes a number with its word: `1 frame`, `2 frames`. */
export function countOf(count: number, word: string): string {
  return `${count} ${word}${count === 1 ? '' : 's'}`
}

/**
 * Updates the times of a part of the page. The value of `data-local` is the form of a time: `full`
 * for date, time and age, `clock` for the time alone, `age` for the age or the day, and empty for
 * an element with parts for both. The exact time becomes the title.
 */
export function updateTimes(root: ParentNode): void {
  const now = Date.now()
  const formats = createFormats()
  for (const element of root.querySelectorAll<HTMLTimeElement>('time[data-local]')) {
    const time = new Date(element.dateTime)
    if (!Number.isNaN(time.getTime())) showTime(element, time, now, formats)
  }
}

/** The formats in the zone of the browser. */
function createFormats(): Readonly<Record<'day' | 'clock' | 'preciseClock', Intl.DateTimeFormat>> {
  const hours = { hour: '2-digit', minute: '2-digit', second: '2-digit' } as const
  return {
    day: new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' }),
    clock: new Intl.DateTimeFormat('en-GB', hours),
    preciseClock: new Intl.DateTimeFormat('en-GB', { ...hours, fractionalSecondDigits: 3 }),
  }
}

function showTime(element: HTMLTimeElement, time: Date, now: number, formats: ReturnType<typeof createFormats>): void {
  const { clock, day, preciseClock } = formats
  const age = now - time.getTime()
  const dayPlace = element.querySelector('.day')
  const clockPlace = element.querySelector('.clock')
  const text = String(element.textContent)
  const hours = (/\.\d{3}/.test(text) ? preciseClock : clock).format(time)
  element.title = toIso(time)
  if (dayPlace !== null && clockPlace !== null) {
    // The end of a chart may be a little later than now.
    dayPlace.textContent = age < 3_600_000 ? describeAge(Math.max(0, age)) : day.format(time)
    clockPlace.textContent = hours
  } else if (element.dataset.local === 'clock') element.textContent = hours
  else if (element.dataset.local === 'age')
    element.textContent = age < 86_400_000 ? describeAge(Math.max(0, age)) : day.format(time)
  else element.textContent = `${day.format(time)}, ${hours} ${nameZone(time)}, ${describeAge(age)}`
}

/** The short name of the zone at a time, such as `CET`. */
export function nameZone(time: Date): string {
  const parts = new Intl.DateTimeFormat('en-GB', { timeZoneName: 'short' }).formatToParts(time)
  return parts.flatMap(({ type, value }) => (type === 'timeZoneName' ? [value] : [])).join('')
}

/** The time in ISO 8601, with the offset of the zone. */
function toIso(time: Date): string {
  const offset = -time.getTimezoneOffset()
  if (offset === 0) return time.toISOString()
  const minutes = Math.abs(offset)
  const two = (number: number) => String(Math.trunc(number)).padStart(2, '0')
  return `${toLocal(time)}${offset < 0 ? '-' : '+'}${two(minutes / 60)}:${two(minutes % 60)}`
}

/** The time in ISO 8601 without a zone. */
export function toLocal(time: Date): string {
  return new Date(time.getTime() - time.getTimezoneOffset() * 60_000).toISOString().slice(0, -1)
}

/** Describes the age of a time, or the span until a time in the future, such as the end of a session. */
function describeAge(milliseconds: number): string {
  const seconds = Math.round(Math.abs(milliseconds) / 1000)
  if (seconds < 5) return 'just now'
  return milliseconds < 0 ? `in ${describeSpan(seconds)}` : `${describeSpan(seconds)} ago`
}

function describeSpan(seconds: number): string {
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return `${Math.round(seconds / 60)} min`
  if (seconds < 172_800) return `${Math.round(seconds / 3600)} h`
  return `${Math.round(seconds / 86_400)} days`
}
