import { writeFileSync } from 'node:fs'
import path from 'node:path'
import axe from 'axe-core'
import type { Page } from 'playwright-core'
import type { Test } from 'tap'
import { openPage } from './browser.ts'
import { layOut, lookAt, settle } from './page-checks.ts'
import { openScreens, type Screen, type Screens } from './screens.ts'
import { walkByKeyboard } from './walk-by-keyboard.ts'

/** A theme, and the width of a window in pixels. */
export interface Window {
  readonly colorScheme: 'dark' | 'light'
  readonly width: number
}

/** All combinations. */
export const windows: readonly Window[] = [1400, 400].flatMap(width => [
  { colorScheme: 'light', width },
  { colorScheme: 'dark', width },
])

/** Waits for two frames, and gives all that axe finds, best practices too. Nothing is fetched for it. */
const runAxe = `new Promise(requestAnimationFrame).then(() => new Promise(requestAnimationFrame)).then(() => axe.run(document, { preload: false, resultTypes: ['violations'] })).then(({ violations }) => violations
  .map(({ id, nodes }) => id + ': ' + nodes.slice(0, 5).map(({ target }) => target.join(' ')).join(', ')))`

const unfold = `document.querySelectorAll('main details').forEach(details => { details.open = true }); ${layOut}`

/** The addresses of all screens, and of the exported files of all profiles. */
async function listAddresses(
  t: Test,
  { screens, tokens, url }: Screens,
): Promise<readonly { readonly name: string; readonly address: string }[]> {
  const folder = t.testdir()
  const files = await Promise.all(
    Object.entries(tokens).map(async ([name, token]) => {
      const file = path.join(folder, `${name}.html`)
      writeFileSync(file, await (await fetch(`${url}/_profiler/${token}/export/html`)).text())
      return { name: `exported ${name}`, address: `file://${file}` }
    }),
  )
  return [...screens.map(({ name, path }) => ({ name, address: url + path })), ...files]
}

/** What axe finds on a page as it is now. */
export async function findViolations(page: Page): Promise<string[]> {
  // Not as a script of the page: its policy stays as it is.
  await page.evaluate(axe.source)
  return page.evaluate<string[]>(runAxe)
}

/**
 * Tests the addresses of these names, each in two windows: they have both themes and both widths.
 * Every second address has the other two windows, so that what many pages have is tested in all
 * four. The addresses are divided between programs.
 */
export async function testAccessibility(t: Test, isTested: (name: string) => boolean): Promise<void> {
  const page = await openPage(t)
  await page.emulateMedia({ reducedMotion: 'reduce' })
  const addresses = (await listAddresses(t, await openScreens(t))).filter(({ name }) => isTested(name))
  t.ok(addresses.length > 3, `${addresses.length} addresses`)
  const found: string[] = []
  for (const [index, { address }] of addresses.entries()) {
    const pair = [index % 2, 3 - (index % 2)]
    const chosen = windows.filter((_, at) => pair.includes(at))
    found.push(...(await findViolationsIn(page, address, chosen)))
  }
  t.strictSame(found, [])
}

/** Opens a page with all its details, and gives what axe finds in these windows. */
export async function findViolationsIn(page: Page, address: string, sizes: readonly Window[]): Promise<string[]> {
  await page.goto(address)
  await page.evaluate(unfold)
  const found: string[] = []
  for (const { colorScheme, width } of sizes) {
    await page.emulateMedia({ colorScheme })
    await page.setViewportSize({ width, height: 900 })
    found.push(...(await findViolations(page)).map(text => `${address}, ${colorScheme}, ${width} pixels: ${text}`))
  }
  return found
}

/** What is wrong with the open page, with its details open, in windows of these widths. */
export async function findMisfits(page: Page, widths: readonly number[]): Promise<string[]> {
  await page.evaluate(unfold)
  const found: string[] = []
  for (const width of widths) {
    await page.setViewportSize({ width, height: 900 })
    const { overflow, pale, rules, styled, title } = await lookAt(page)
    if (overflow !== 0) found.push(`it is ${overflow} pixels too wide for ${width}`)
    // A strict policy would forbid them.
    if (styled !== 0) found.push('it has style attributes')
    if (rules === 0) found.push('it has no styles')
    if (title === '') found.push('it has no title')
    found.push(...pale.map(text => `it is pale: ${text}`))
  }
  return found.map(text => `${page.url()}: ${text}`)
}

/** A title, text, labels and code. */
const mostStyles = 4

/** In the browser: the styles of the texts of a panel, each with a text that has it, those of the most texts first. */
const listStyles = `(() => {
  const styles = new Map()
  const texts = document.createTreeWalker(document.querySelector('#panel'), NodeFilter.SHOW_TEXT)
  const range = document.createRange()
  while (texts.nextNode()) {
    const { data, parentElement } = texts.currentNode
    if (data.trim() === '' || !parentElement.checkVisibility()) continue
    // The answer is the lead of the page, as the headline above it.
    if (parentElement.matches('.answer, .answer > a')) continue
    range.selectNodeContents(texts.currentNode)
    // Texts for screen readers have the size of a point.
    if (range.getClientRects().length === 0 || parentElement.getBoundingClientRect().width <= 1) continue
    const { fontFamily, fontSize, fontStyle, fontWeight, letterSpacing, textTransform } = getComputedStyle(parentElement)
    const style = [fontSize, fontWeight, fontStyle, fontFamily.split(',')[0], textTransform, letterSpacing].join(' ')
    const { count, text } = styles.get(style) ?? { count: 0, text: data.trim().slice(0, 30) }
    styles.set(style, { count: count + 1, text })
  }
  return [...styles].sort(([, a], [, b]) => b.count - a.count).map(([style, { text }]) => style + ': ' + text)
})()`

/** The styles of the text of the open panel, with its details open, that are too many; colours are left out. */
export async function findExtraStyles(page: Page): Promise<string[]> {
  await page.evaluate(unfold)
  const styles = await page.evaluate<string[]>(listStyles)
  return styles.slice(mostStyles).map(text => `${page.url()} has text of one more style: ${text}`)
}

/** Pixels that a finger needs, and in a list of rows that only open something (WCAG 2.5.8). */
const leastTarget = 40
const leastRow = 24

/**
 * In the browser: what a finger hits above and below the middle of each control that is in sight.
 * Links of sentences and places after names stay in their lines, and marks of charts at their time.
 */
const listSmallTargets = `(() => {
  const links = 'a[href], [role="link"]'
  const controls = links + ', button, summary, select, textarea, input:not(label *), label:has(input)'
  const small = []
  const menus = [...document.querySelectorAll('details[data-menu]')]
  for (const menu of menus) menu.open = false
  for (const control of document.querySelectorAll(controls)) {
    const menu = control.localName === 'summary' ? undefined : menus.find(menu => menu.contains(control))
    if (menu) menu.open = true
    const isSentence = control.matches(links) && (control.closest('p, pre, .prose') !== null || control.matches(':is(code, small, .frame-place) > .place, .set-by > a, .set-by > small > a'))
    const isMark = control.closest('svg') !== null && control.closest('.flame') === null
    const isPart = control.parentElement.closest(controls) !== null
    if (control.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && !isSentence && !isMark && !isPart) {
      control.scrollIntoView({ block: 'nearest', inline: 'nearest' })
      const { height, width, x, y } = (control.closest('svg') ? control.querySelector('rect') : control).getClientRects()[0] ?? new DOMRect()
      const isHit = below => control.contains(document.elementFromPoint(x + width / 2, y + height / 2 + below)?.closest(controls) ?? null)
      // The browser rounds points.
      const isRow = control.matches('.item .line, .chart .lines a, .sets a, .slowest a')
      const reach = (isRow ? ${leastRow} : ${leastTarget}) / 2 - 2
      // A bar may be too narrow for a point of its own.
      if (width > 8 && isHit(0) && !(isHit(-reach) && isHit(reach))) {
        small.push(control.localName + ' of ' + Math.round(height) + ' pixels: ' + control.textContent.trim().slice(0, 20))
      }
    }
    if (menu) menu.open = false
  }
  return [...new Set(small)]
})()`

/** The controls of the open page that are lower than a finger needs. */
export async function findSmallTargets(page: Page): Promise<string[]> {
  await page.evaluate(unfold)
  const { width } = page.viewportSize() ?? { width: 400 }
  // Nothing is out of sight, and nothing sticks to an edge.
  const height = await page.evaluate<number>('document.documentElement.scrollHeight')
  await page.setViewportSize({ width, height })
  return (await page.evaluate<string[]>(listSmallTargets)).map(text => `${page.url()}: ${text}`)
}

/** The text of a page that can be seen, without the masthead, whose search and themes need scripts. */
async function textOf(page: Page): Promise<string> {
  await page.evaluate(layOut)
  return (await page.locator('body > :not(.masthead)').allInnerTexts()).join('\n')
}

/** What a page lacks that is open in a window with scripts and in another one without. */
export async function findScripted(page: Page, plain: Page): Promise<string[]> {
  const [full, text] = [await textOf(page), await textOf(plain)]
  const { pale } = await lookAt(plain)
  const useless = await plain.locator('button[data-copy]:visible, [data-filter]:not([name]):visible').count()
  return [
    ...pale.map(text => `pale: ${text}`),
    ...(text.length > 0.9 * full.length ? [] : [`${text.length} of ${full.length} characters`]),
    ...(useless === 0 ? [] : [`${useless} controls do nothing`]),
  ].map(text => `${page.url()} without scripts: ${text}`)
}

/** Opens a screen, and gives what the Tab key does not reach, in the order of reading, with a visible focus. */
export async function findUnreached(page: Page, url: string, { path }: Screen): Promise<string[]> {
  await settle(page, () => page.goto(url + path))
  const { backwards, first, missed, unseen } = await walkByKeyboard(page)
  const isSkipMissing = path.startsWith('/_profiler/') && !first.startsWith('Skip to')
  return [
    ...(isSkipMissing ? [`first is "${first}", not the way to the content`] : []),
    ...backwards.map(text => `backwards: ${text}`),
    ...missed.map(text => `missed: ${text}`),
    ...unseen.map(text => `unseen: ${text}`),
  ].map(text => `${path}: ${text}`)
}
