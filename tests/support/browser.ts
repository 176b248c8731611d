import { accessSync, constants } from 'node:fs'
import path from 'node:path'
import { type Browser, chromium } from 'playwright-core'
import type { Test } from 'tap'

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
/** Starts Chromium, without its own use of the network. It is closed when the test ends. */
export async function openBrowser(t: Test, options: readonly string[] = []): Promise<Browser> {
  const args = [...quietly, ...options]
  const browser = await chromium.launch({ executablePath: String(executable), args, timeout: patience })
  browser.on('context', context => context.setDefaultTimeout(patience))
  t.teardown(() => browser.close())
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
