import { accessSync, constants } from 'node:fs'
import path from 'node:path'
import { type Browser, chromium } from 'playwright-core'
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
  /* c8 ignore next -- it depends on the machine */
  skip: executable === undefined && 'there is no Chromium on the PATH',
}

/* c8 ignore start -- only where there is a Chromium, and coverage is complete without one */
/**
 * A Chromium without its own use of the network. All tests of a process share it, because each start takes a second; its
 * contexts, which share nothing, are closed when the test ends.
 */
export async function openBrowser(t: Test, options: readonly string[] = []): Promise<Browser> {
  const key = options.join(' ')
  const starting = started.get(key) ?? start(options)
  started.set(key, starting)
  const browser = await starting
  t.teardown(() => Promise.all(browser.contexts().map(context => context.close())))
  return browser
}

const started = new Map<string, Promise<Browser>>()

async function start(options: readonly string[]): Promise<Browser> {
  const args = [...quietly, ...options]
  const browser = await chromium.launch({ executablePath: String(executable), args, timeout: patience })
  browser.on('context', context => context.setDefaultTimeout(patience))
  root.teardown(() => browser.close())
  return browser
}
/* c8 ignore stop */

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
]

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
