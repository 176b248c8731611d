import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, watch } from 'node:fs'
import inspector from 'node:inspector'
import path from 'node:path'
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import type { SourceProblem } from '../kernel/bundle.ts'
import { HoldingPage } from './holding-page.ts'
import { createSources, isSource, listPackageFolders, mayContainSources, type Sources } from './sources.ts'
import { watchFolder } from './watch.ts'

/** The exit code of the main process for an error that no change of a file can correct, such as a port that is taken. */
const usageError = 64

/** Milliseconds. The main process has shorter deadlines of its own, but not in an endless loop. */
const quietTime = 60
const stopTimes = { SIGINT: 5_000, SIGTERM: 15_000 } as const
const firstWait = 100
const longestWait = 30_000

/** The most edits that a child is started with, and the most files of each. */
const editLimit = 20
const nameLimit = 50

/** Bytes of all edits: Linux starts no program with an argument of 128 KiB. */
const editBytes = 100_000

/**
 * Runs the main process as a child process. A changed source or .env file starts a new child, also after a crash or a
 * type error. A child that crashes while it serves is replaced at once; after a child that could not start, the
 * supervisor waits for a change. After a change of a template or an asset the child reads its templates and assets
 * again. Each child is started with the latest edits: their times, and the names of their files. Without a child, the port has
 * a page with the reason; a child whose sources have changed and do not compile gets the message `broken`.
 */
export function supervise(
  directory: string,
  commandLine: readonly string[],
  sources: Sources = createSources(directory),
): void {
  // With NODE_OPTIONS=--inspect the debugger is for the child, which needs the port.
  if (inspector.url() !== undefined) inspector.close()
  let child: ChildProcess | undefined
  const holding = new HoldingPage(directory, commandLine)
  let wait = 0
  let ending: ChildProcess | undefined
  let isCompiled: boolean | undefined
  let hasWarned = false
  let isStopping = false
  let isBusy = false
  let hasChanged = false
  let isStale = false
  /** The files that have changed since the sources of the child were compiled, or since it has read its templates. */
  let changed = new Set<string>()
  /** The latest edits that a child has worked with, the oldest first. */
  const edits: { readonly time: number; readonly files: readonly string[] }[] = []

  /** If the sources do not compile, the old child goes on. */
  async function restart(): Promise<void> {
    // The compiler may miss a change that happens while it is at work: the next start has it.
    const built = changed
    changed = new Set()
    isCompiled = await (isCompiled === undefined ? sources.buildWhenStale() : sources.build({ isThorough: true }))
    if (!isCompiled) {
      const state = child === undefined ? 'Nothing is started' : 'What was compiled before goes on'
      console.error(`${state}: waiting for a change.`)
      // If the child is just ending, the message is not needed.
      if (child !== undefined) child.send({ broken: sources.problems }, () => undefined)
      else void holding.open(sources.problems)
    }
    if (!isCompiled) changed = new Set([...built, ...changed])
    if (!isCompiled || isStopping) return
    await stop('SIGINT')
    await holding.close()
    if (!isStopping) start(built)
  }

  function start(files: ReadonlySet<string>): void {
    note(files)
    const known = edits.length === 0 ? [] : [`--edits=${JSON.stringify(edits)}`]
    const options = [...commandLine, ...(hasWarned ? ['--restarted'] : []), ...known]
    const startedAt = Date.now()
    let servesSince: number | undefined
    let problems: readonly SourceProblem[] = []
    const started = fork(path.join(import.meta.dirname, 'start.js'), [directory, ...options], { stdio: 'inherit' })
    child = started
    started.on('message', message => {
      hasWarned ||= message === 'warned'
      if (message === 'listening') servesSince = performance.now()
      // Both processes are of this package.
      problems = (message as { readonly problems?: readonly SourceProblem[] }).problems ?? problems
    })
    started.once('exit', (code, signal) => {
      child = undefined
      if (started === ending) return
      if (code === 0 || code === usageError) process.exit(code)
      const reason = signal ?? `exit code ${code}`
      if (servesSince !== undefined) void recover(reason, performance.now() - servesSince)
      else onFailedStart(reason, startedAt, problems)
    })
  }

  /** Notes the files of an edit, from now on in use. */
  function note(files: ReadonlySet<string>): void {
    if (files.size > 0) edits.push({ time: Date.now(), files: [...files].slice(0, nameLimit) })
    while (edits.length > editLimit || Buffer.byteLength(JSON.stringify(edits)) > editBytes) edits.shift()
  }

  /** Waits for a change, unless another program, such as bin/test, was compiling when the child read dist/. */
  function onFailedStart(reason: string, startedAt: number, problems: readonly SourceProblem[]): void {
    const isRepaired = !isBusy && sources.isBuiltSince(startedAt)
    console.error(`The site has ended (${reason}): ${isRepaired ? 'dist/ has changed.' : 'waiting for a change.'}`)
    if (isRepaired) onChange(true)
    else void holding.open(problems)
  }

  /** A crash within the first moments may come back at each start: then the waits grow. */
  async function recover(reason: string, age: number): Promise<void> {
    wait = Math.min(Math.max(2 * wait - age, firstWait), longestWait)
    console.error(`The site has ended (${reason}): starting again in ${(wait / 1000).toFixed(1)} s.`)
    await holding.open()
    await delay(wait)
    await holding.close()
    if (child === undefined && !isBusy && !isStopping) start(new Set())
  }

  /** With SIGINT the child does not wait for open connections. */
  async function stop(signal: keyof typeof stopTimes): Promise<void> {
    if (child === undefined) return
    const old = child
    ending = old
    old.kill(signal)
    const timer = setTimeout(() => old.kill('SIGKILL'), stopTimes[signal])
    await once(old, 'exit')
    clearTimeout(timer)
  }

  /** Without a file, the compiled files have changed. */
  function onChange(mustRestart: boolean, file?: string): void {
    const name = file === undefined ? '' : path.relative(directory, file)
    // Editors and other tools write temporary files whose names have no extension.
    if (isSetting(name) || path.extname(name) !== '') changed.add(name)
    hasChanged = true
    isStale ||= mustRestart
    if (!isBusy) void update()
  }

  function watchAll(): void {
    const isWatched = (folder: string) => mayContainSources(directory, folder)
    watchFolder(directory, isWatched, file => {
      const name = path.relative(directory, file)
      // The texts that are printed once depend on the settings: unknown names, the link with the key.
      if (isSetting(name)) hasWarned = false
      // npm writes it after an installation: the package that the server lacked may be there now.
      if (isSetting(name) || isSource(name) || name === 'package.json') onChange(true, file)
      else if (isRead(name)) onChange(false, file)
    })
    for (const folder of listPackageFolders(directory)) {
      watchFolder(folder, isWatched, file => isVisible(file) && !isSource(file) && onChange(false, file))
    }
    if (sources.output === undefined || !existsSync(sources.output)) return
    // The compiler writes this file last. While a child runs or the supervisor compiles itself, it is of no interest.
    watch(sources.output, (_event, name) => {
      if (name === '.tsbuildinfo' && child === undefined && !isBusy) onChange(true)
    })
  }

  /** Starts at once and, if nothing has to be compiled, before the folders are watched: that takes some time. */
  async function begin(): Promise<void> {
    isBusy = true
    const started = restart()
    await nextTurn()
    watchAll()
    await started
    await update()
  }

  /** Handles one change after another: a change that happens meanwhile is handled next. */
  async function update(): Promise<void> {
    isBusy = true
    while (hasChanged && !isStopping) {
      // Editors write a file in several steps, and other tools many files at once.
      while (hasChanged) {
        hasChanged = false
        await delay(quietTime)
      }
      if (isStale || child === undefined) {
        isStale = false
        await restart()
      } else {
        note(changed)
        // If the child is just ending, the message is not needed.
        child.send({ reload: [...changed].slice(0, nameLimit) }, () => undefined)
        changed = new Set()
      }
    }
    isBusy = false
  }

  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, async () => {
      isStopping = true
      await stop(signal)
      process.exit(0)
    })
  }
  void begin()
}

const isSetting = (name: string) => /^(?:\.env(?:\.dev)?(?:\.local)?|tsconfig\.json)$/.test(name)
/** Whether a child reads a file of the application again: a template or a static file, also of `packages/…/templates`. */
const isRead = (name: string) => /(?:^|[\\/])(?:assets|bundles|public|templates)[\\/]/.test(name) && isVisible(name)
/** Editors keep files of their own beside the edited files. */
const isVisible = (file: string) => !/^\.|~$/.test(path.basename(file))
