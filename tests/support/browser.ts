import { accessSync, constants } from 'node:fs'
import path from 'node:path'
import { type Browser, chromium, type Page } from 'playwright-core'
import { t as root, type Test } from 'tap'

/** The Chromium of this machine; `undefined` when there is none. */
export const executable: string | undefined = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable']
  .flatMap(name =>
    String(process.env.PATH)
      .split(path.delimiter)
      .map(folder => path.join(folder, name)),
  )
  .find(isExecutable)

/** For the options of a test: skips it, and says why, where there is no Chromium. */
export const needsBrowser: { readonly skip: string | false } = {
  skip: executable === undefined && 'there is no Chromium on the PATH',
}

/** What a page cannot change after it was opened. Sizes and media are changed by its methods. */
export interface PageOptions {
  readonly javaScriptEnabled?: boolean
  /** A finger instead of a mouse. */
  readonly hasTouch?: boolean
  readonly timezoneId?: string
}

/**
 * An empty page, which may use the clipboard. The names `*.test` are this machine. A new context costs half a second of
 * CPU time: after a test its page is cleared, and given to the next test of this process that wants the same options.
 */
export async function openPage(t: Test, options: PageOptions = {}): Promise<Page> {
  const key = JSON.stringify({ javaScriptEnabled: true, ...options })
  const page = idle.get(key)?.pop() ?? (await createPage(options))
  t.teardown(async () => {
    await clear(page)
    idle.set(key, [...(idle.get(key) ?? []), page])
  })
  return page
}

const idle = new Map<string, Page[]>()
let starting: Promise<Browser> | undefined

async function createPage(options: PageOptions): Promise<Page> {
  starting ??= start()
  const browser = await starting
  const context = await browser.newContext({ ...options, permissions: ['clipboard-read', 'clipboard-write'] })
  context.setDefaultTimeout(patience)
  return context.newPage()
}

/** Removes what a test has left in a page and in its context. */
async function clear(page: Page): Promise<void> {
  for (const event of ['console', 'pageerror', 'request', 'requestfailed', 'requestfinished', 'response']) {
    page.removeAllListeners(event)
  }
  await page.unrouteAll()
  // A page in a sandbox has no storage.
  await page.evaluate('localStorage.clear()').catch(() => undefined)
  await page.context().clearCookies()
  await page.goto('about:blank')
  await page.mouse.move(0, 0)
  await page.emulateMedia({ colorScheme: null, media: null, reducedMotion: null })
  await page.setViewportSize({ width: 1280, height: 720 })
}

/** A Chromium without its own use of the network. */
async function start(): Promise<Browser> {
  const browser = await chromium.launch({ executablePath: String(executable), args: quietly, timeout: patience })
  root.teardown(() => browser.close())
  return browser
}

/** Milliseconds: nothing takes so long, on a busy machine either. */
const patience = 120_000

const quietly = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--host-resolver-rules=MAP *.test 127.0.0.1',
]

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
