import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Test } from 'tap'
import { type SiteProcess, startApplicationProgram } from '#tests/bin/site-process.ts'
import { createSmallApplication } from './create-small-application.ts'
import { until } from './until.ts'

/** A small application, whose files a test changes. */
export interface ChangingSite {
  readonly directory: string
  readonly bundle: string
  readonly template: string
  inCopy(file: string): string
  /** Replaces a file, as editors do that never leave a half-written file. */
  replace(file: string, text: string): void
  /** Adds a text to a file. Returns a function that restores the file. */
  add(file: string, text: string): () => void
  /** Changes a file. Returns a function that restores it. */
  change(file: string, edit: (text: string) => string): () => void
}

/** A small application that `bin/serve` supervises. */
export interface SupervisedSite extends ChangingSite {
  readonly site: SiteProcess
  /** Waits until the site serves (again). Resolves with its URL. */
  serves(): Promise<string>
  /** Requests a page. */
  visit(target: string, headers?: Record<string, string>): ReturnType<typeof fetch>
  /** The first page without the toolbar, which names the token: so each response is the same. */
  page(): Promise<string>
  /** Requests the first page until it is as expected. */
  shows(isShown: (page: string) => boolean): Promise<void>
  /** Requests the first page, and reads its profile. */
  readProfile(): Promise<{ process: { server: { edits: { time: number; files: string[] }[]; process: object } } }>
}

/** Creates an application in the folder of the test. */
export function createChangingSite(t: Test): ChangingSite {
  const directory = t.testdir()
  createSmallApplication(directory)
  const inCopy = (file: string) => path.join(directory, file)
  const replace = (file: string, text: string) => {
    writeFileSync(inCopy(`${file}~`), text)
    renameSync(inCopy(`${file}~`), inCopy(file))
  }
  const change = (file: string, edit: (text: string) => string) => {
    const before = readFileSync(inCopy(file), 'utf8')
    replace(file, edit(before))
    return () => replace(file, before)
  }
  return {
    directory,
    bundle: 'bundles/home/home-bundle.ts',
    template: 'templates/home/home.hbs',
    inCopy,
    replace,
    change,
    add: (file, text) => change(file, before => before + text),
  }
}

/** Starts the supervisor of a new application, whose settings have a mistake: a program of `application-program`. */
export function superviseSite(t: Test, program: 'serve' | 'superviseHastily' = 'serve'): SupervisedSite {
  const files = createChangingSite(t)
  writeFileSync(files.inCopy('.env.local'), 'LOG_LEVEL=loud\n')
  const site = startApplicationProgram(t, [program, files.directory, '--port=0'])
  let url = ''
  const visit = (target: string, headers: Record<string, string> = {}) => fetch(url + target, { headers })
  const page = async () => (await visit('/', { 'x-profiler': 'off' })).text()
  return {
    ...files,
    site,
    async serves() {
      url = await site.url()
      return url
    },
    visit,
    page,
    shows: isShown => until(async () => isShown(await page()), 20),
    async readProfile() {
      const token = (await visit('/')).headers.get('x-debug-token')
      return (await visit(`/_profiler/${token}.json`)).json() as ReturnType<SupervisedSite['readProfile']>
    },
  }
}
