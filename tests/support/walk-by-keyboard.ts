import type { Page } from 'playwright-core'
import { layOut } from './page-checks.ts'

/** The elements that the Tab key has reached on a page. */
export interface Walk {
  /** What it came to first. */
  readonly first: string
  /** What can be used, and was not reached. */
  readonly missed: readonly string[]
  /** What stands above and to the left of what came before it. */
  readonly backwards: readonly string[]
  /** What does not show that it has the focus. */
  readonly unseen: readonly string[]
}

/** A place where the focus was. */
interface Stop {
  readonly index: number
  readonly isSeen: boolean
}

interface Target {
  readonly name: string
  readonly left: number
  readonly top: number
  readonly bottom: number
  /** A radio button beside the chosen one is reached with the arrows; what scrolls is a stop in some browsers only. */
  readonly isNeeded: boolean
}

/** Finds what can be used, where it stands on the page, and keeps it for later. */
const collect = `(() => {
  const found = [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex]')].filter(
    element => element.tabIndex >= 0 && !element.disabled && element.checkVisibility({ visibilityProperty: true }))
  window.walk = found
  return found.map(element => {
    const { bottom, left, top } = element.getBoundingClientRect()
    const name = element.textContent.trim() || element.getAttribute('aria-label') || element.name || element.tagName
    return { name: name.slice(0, 60), left, top: top + scrollY, bottom: bottom + scrollY, isNeeded: element.type !== 'radio' }
  })
})()`

/** Notes each place that gets the focus: -1 for a place that only scrolls. */
const note = `(() => {
  const isMarked = place => {
    const { boxShadow, outlineStyle, outlineWidth } = getComputedStyle(place)
    return (outlineStyle !== 'none' && parseFloat(outlineWidth) > 0) || boxShadow !== 'none'
  }
  window.stops = []
  document.addEventListener('focusin', ({ target }) => {
    // A link may stand for its whole row.
    const isSeen = [target, target.closest('tr')].some(place => place !== null && isMarked(place))
    window.stops.push({ index: window.walk.indexOf(target), isSeen })
  })
})()`

/** Whether the page has got other elements meanwhile: late work of a request changes its profile. */
const isChanged = 'window.walk.some(element => !element.isConnected)'

/** Goes through a page with the Tab key, from its beginning to its end. */
export async function walkByKeyboard(page: Page): Promise<Walk> {
  for (;;) {
    const walk = await walkOnce(page)
    if (!(await page.evaluate<boolean>(isChanged))) return walk
    await page.reload()
  }
}

async function walkOnce(page: Page): Promise<Walk> {
  await page.evaluate(layOut)
  const targets = await page.evaluate<Target[]>(collect)
  await page.evaluate(note)
  let all: Stop[] = []
  let again = -1
  // After the last element the walk begins again. A field for a date has several stops, so there
  // may be more than targets.
  for (let round = 0; round < 2 && again === -1; round++) {
    // The keys are sent in order, without an answer to each of them, which would take most of the
    // time. The focus goes to the process of a frame and back, which a key that follows at once misses.
    const keys = Array.from({ length: targets.length + 10 }, () => () => page.keyboard.press('Tab'))
    if (page.frames().length === 1) await Promise.all(keys.map(press => press()))
    else for (const press of keys) await press()
    all = await page.evaluate<Stop[]>('window.stops')
    again = all.findIndex(({ index }, at) => at > 0 && index === all[0]?.index)
  }
  const stops = (again === -1 ? all : all.slice(0, again)).filter(({ index }) => index !== -1)
  const nameOf = (index: number) => String(targets[index]?.name)
  const reached = new Set(stops.map(({ index }) => index))
  const seen = new Set(stops.filter(({ isSeen }) => isSeen).map(({ index }) => index))
  return {
    first: nameOf(stops[0]?.index ?? -1),
    missed: targets.filter(({ isNeeded }, index) => isNeeded && !reached.has(index)).map(({ name }) => name),
    backwards: stops.flatMap(({ index }, at) => {
      const [here, before] = [targets[index], targets[stops[at - 1]?.index ?? -1]]
      const isBackwards = here && before && here.bottom <= before.top && here.left <= before.left
      return isBackwards ? [`${before.name} → ${here.name}`] : []
    }),
    // A field for a date is several stops, and its button shows the focus itself.
    unseen: [...reached].filter(index => !seen.has(index)).map(nameOf),
  }
}
