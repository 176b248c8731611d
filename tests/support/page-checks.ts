import type { Page } from 'playwright-core'

/**
 * Lays out the blocks that are out of sight, as scrolling does: until then, the places of what is
 * below them are estimates.
 */
export const layOut = `{
  const all = new CSSStyleSheet()
  all.replaceSync('* { content-visibility: visible !important }')
  document.adoptedStyleSheets.push(all)
}`

/** What of a page is looked at. */
export interface Look {
  readonly title: string
  readonly overflow: number
  readonly rules: number
  /** Elements with a style attribute. */
  readonly styled: number
  readonly background: string
  /** Texts whose contrast is below 4.5, with that. */
  readonly pale: readonly string[]
}

/** In the browser. */
const script = `(() => {
  const channels = color => color.match(/[\\d.]+/g).map(Number)
  const luminance = color => {
    const [r, g, b] = channels(color).map(value => value / 255).map(v => v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const backgroundOf = element => {
    for (let at = element; at; at = at.parentElement) {
      const color = getComputedStyle(at).backgroundColor
      if (channels(color)[3] !== 0) return color
    }
    return 'rgb(255, 255, 255)'
  }
  const pale = []
  for (const element of document.querySelectorAll('body *')) {
    const text = [...element.childNodes].filter(node => node.nodeType === 3).map(node => node.data.trim()).join('')
    if (text === '' || !element.checkVisibility()) continue
    const [a, b] = [luminance(getComputedStyle(element).color), luminance(backgroundOf(element))]
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05)
    if (contrast < 4.5) pale.push(text.slice(0, 30) + ' ' + contrast.toFixed(2))
  }
  return {
    title: document.title,
    overflow: document.documentElement.scrollWidth - document.documentElement.clientWidth,
    rules: [...document.styleSheets].reduce((sum, sheet) => sum + sheet.cssRules.length, 0),
    styled: document.querySelectorAll('[style]').length,
    background: getComputedStyle(document.body).backgroundColor,
    pale,
  }
})()`

/** Looks at a page as it is now. */
export function lookAt(page: Page): Promise<Look> {
  return page.evaluate<Look>(script)
}

/** Goes to a page, and waits until nothing moves: a list follows new records. */
export async function settle(page: Page, go: () => Promise<unknown>): Promise<void> {
  await go()
  if ((await page.locator('[data-live]:not([data-live=""])').count()) > 0) await page.locator('.is-live').waitFor()
}

/** Collects problems of a page: failures, messages, violated policies, and requests to other sites. */
export function watch(page: Page, url: string): () => string[] {
  const wrong: string[] = []
  page.on('pageerror', error => wrong.push(String(error)))
  page.on('console', message => {
    if (!message.text().startsWith('Failed to load resource')) wrong.push(`${message.type()}: ${message.text()}`)
  })
  page.on('request', request => {
    if (new URL(request.url()).origin !== url) wrong.push(`request to ${request.url()}`)
  })
  page.on('response', response => {
    const isPage = response.request().isNavigationRequest()
    if (!isPage && response.status() >= 400) wrong.push(`${response.status()} ${response.url()}`)
  })
  page.on('requestfailed', request => {
    // Chromium lets go of an icon when it leaves the page.
    const reason = request.failure()?.errorText
    if (reason !== 'net::ERR_ABORTED') wrong.push(`${reason}: ${request.url()}`)
  })
  return () => wrong
}
