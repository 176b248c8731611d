import type { Page } from 'playwright-core'

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

/** Where the focus is; -1 where it is nowhere, or on something that only scrolls. */
const locate = `(() => {
  const element = document.activeElement
  const isMarked = place => {
    const { boxShadow, outlineStyle, outlineWidth } = getComputedStyle(place)
    return (outlineStyle !== 'none' && parseFloat(outlineWidth) > 0) || boxShadow !== 'none'
  }
  // A link may stand for its whole row.
  const isSeen = [element, element.closest('tr')].some(place => place !== null && isMarked(place))
  return { index: window.walk.indexOf(element), isSeen, isOut: element === document.body }
})()`

/* c8 ignore start -- only where there is a Chromium */
/** Goes through a page with the Tab key, from its beginning to its end. */
export async function walkByKeyboard(page: Page): Promise<Walk> {
  const targets = await page.evaluate<Target[]>(collect)
  const stops: Stop[] = []
  for (let step = 0; step < 2 * targets.length + 20; step++) {
    await page.keyboard.press('Tab')
    const stop = await page.evaluate<Stop & { readonly isOut: boolean }>(locate)
    if (stop.isOut || (stops.length > 0 && stop.index === stops[0]?.index)) break
    if (stop.index !== -1) stops.push(stop)
  }
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
/* c8 ignore stop */
