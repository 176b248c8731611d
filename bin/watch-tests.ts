import { once } from 'node:events'
import path from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { readImporters } from './importers.ts'
import { isSource, mayContainSources, type Sources } from './sources.ts'
import { watchFolder } from './watch.ts'

/** Milliseconds: editors write a file in several steps, and other tools many files at once. */
const quietTime = 60

/** The tests of a directory. All paths are absolute. */
export interface WatchedTests {
  readonly directory: string
  readonly sources: Sources
  /** Lists the tests: a change may have added one. */
  list(): readonly string[]
  /** Runs a test, and prints its failures. Returns 0 if there are none. The signal ends its processes. */
  run(test: string, signal: AbortSignal): Promise<number>
}

/**
 * Runs some tests. Then, after each change of a source, it compiles, and runs the tests that import the changed file, also through
 * other files. A change during a run is handled after the current test. Resolves with 0 after SIGINT or SIGTERM.
 */
export async function watchTests(first: readonly string[], tests: WatchedTests): Promise<number> {
  const { directory, list, run, sources } = tests
  const queue = new Set(first)
  const stop = new AbortController()
  let changed = new Set<string>()
  let results: boolean[] = []
  let hasChanged = true
  let isBuilt = false
  let busy: Promise<void> | undefined

  async function work(): Promise<void> {
    while (!stop.signal.aborted && (hasChanged || (isBuilt && queue.size > 0))) {
      if (hasChanged) await handleChange()
      else await runNext()
    }
    busy = undefined
  }

  async function handleChange(): Promise<void> {
    await delay(quietTime)
    hasChanged = false
    const files = changed
    changed = new Set()
    isBuilt = await sources.buildTests()
    if (!isBuilt) {
      // The files count again after the correction.
      changed = new Set([...files, ...changed])
      return print('Nothing is run: waiting for a change.')
    }
    if (files.size === 0) return
    const programs = new Map(list().map(test => [sources.toProgram(test), test]))
    const findImporters = readImporters(directory, [...programs.keys()])
    for (const file of files) {
      const found = findImporters(sources.toProgram(file))
      print(`${path.relative(directory, file)}: ${found.length === 0 ? 'no test imports it' : count(found)}`)
      for (const program of found) queue.add(String(programs.get(program)))
    }
  }

  async function runNext(): Promise<void> {
    const [test = ''] = queue
    queue.delete(test)
    results.push((await run(test, stop.signal)) === 0)
    if (queue.size > 0 || stop.signal.aborted) return
    const failed = results.filter(isGood => !isGood).length
    print(`${count(results)}: ${results.length - failed} passed, ${failed} failed`)
    results = []
  }

  const isWatched = (folder: string) => mayContainSources(directory, folder) || isTests(directory, folder)
  const close = watchFolder(directory, isWatched, file => {
    // Editors keep hidden files of their own beside the edited files.
    if (!isSource(file) || path.basename(file).startsWith('.')) return
    changed.add(file)
    hasChanged = true
    busy ??= work()
  })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => stop.abort())
  print('Waiting for changes: Ctrl-C ends.')
  busy = work()
  await once(stop.signal, 'abort')
  await busy
  close()
  return 0
}

const isTests = (directory: string, folder: string) => folder === path.join(directory, 'tests')

const count = ({ length }: { readonly length: number }) => `${length} ${length === 1 ? 'test file' : 'test files'}`

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
