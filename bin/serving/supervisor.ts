import { existsSync, watch } from 'node:fs'
import inspector from 'node:inspector'
import path from 'node:path'
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import type { SourceProblem } from '../../kernel/bundle.ts'
import { packageDirectory } from '../../lib/package.ts'
import { appendEdit, type Edit, nameLimit } from '../application/edits.ts'
import {
  compiledMarker,
  createSources,
  isSource,
  listPackageFolders,
  mayContainSources,
  type Sources,
} from '../application/sources.ts'
import { watchFolder } from '../application/watch.ts'
import { bindSharedSocket } from './child-processes.ts'
import { HoldingPage } from './holding-page.ts'
import { isRead, isVisible, quietTime } from './read-files.ts'
import { type Options, parseOptions } from './serve-options.ts'
import { defaultTimes, type FailedStart, type ProcessEnd, type ProcessTimes, SiteProcesses } from './site-processes.ts'

/** The exit code of the main process for an error that no change of a file can correct, such as a port that is taken. */
const usageError = 64

/** Milliseconds. */
const firstWait = 100
const longestWait = 30_000
/** In a shorter time, requests wait for the next process. In a longer one, they get a page. */
const patience = 1_000

/** A mistake of types does not stop the application. */
const lenient = { isLenient: true }

/**
 * Runs the main process as a child process. A changed source or .env file starts a new process, which takes the place of the
 * running one as soon as it serves: until then the running one answers, and it goes on if the new one does not start. A process
 * that crashes while it serves is replaced at once; without any process, the supervisor waits for a change. After a change of
 * a template or an asset the process reads its templates and assets again. Each process is started with the latest edits: their
 * times, and the names of their files. Mistakes in the sources are sent to the running process with the message `broken`; without
 * one, the port has a page with the mistakes.
 */
export async function supervise(
  directory: string,
  commandLine: readonly string[],
  sources: Sources = createSources(directory),
  times: ProcessTimes = defaultTimes,
): Promise<void> {
  const hasDebugger = inspector.url() !== undefined || commandLine.some(option => option.startsWith('--inspect'))
  // With NODE_OPTIONS=--inspect the debugger is for the child, which needs the port.
  if (inspector.url() !== undefined) inspector.close()
  const options = readOptions(commandLine)
  const socket = options && (await bindSharedSocket(options.host, options.port))
  const processes = new SiteProcesses({
    parameters: [directory, ...commandLine],
    socket: socket?.fd,
    times,
    mayOverlap: socket !== undefined && !hasDebugger,
    async onReady() {
      clearTimeout(slowStart)
      await holding?.close()
    },
    onWarned() {
      hasWarned = true
    },
    onCrash: (end, age) => void recover(end, age),
  })
  // Without a port of its own, no browser would find the page.
  const hasPort = socket !== undefined || (options !== undefined && options.port !== 0)
  const holding = hasPort ? new HoldingPage(directory, commandLine, socket?.fd) : undefined
  let slowStart: NodeJS.Timeout | undefined
  let wait = 0
  let isCompiled: boolean | undefined
  let hasWarned = false
  let isStopping = false
  let isBusy = false
  let hasChanged = false
  let isStale = false
  /** Whether the latest process did not start. */
  let isWaiting = false
  /** The files that have changed since the sources of the process were compiled, or since it has read its templates. */
  let changed = new Set<string>()
  /** Ends the check of types: only the last one counts, and none after another mistake. */
  let check = new AbortController()
  /** The changed files of the processes that were started and have not served yet. */
  let starting: ReadonlySet<string> = new Set()
  /** The latest edits that a process has worked with, the oldest first. */
  let edits: readonly Edit[] = []

  /** If the sources do not compile, the running process goes on. */
  async function restart(): Promise<void> {
    // The compiler may miss a change that happens while it is at work: the next start has it.
    const built = changed
    changed = new Set()
    // A check of the earlier sources would take the time of the compiler.
    check.abort()
    isCompiled = await (isCompiled === undefined ? sources.buildWhenStale(lenient) : sources.build(lenient))
    if (isStopping) return
    if (!isCompiled) {
      const state = processes.isRunning ? 'What was compiled before goes on' : 'Nothing is started'
      console.error(`${state}: waiting for a change.`)
      showProblems(sources.problems)
      changed = new Set([...built, ...changed])
    } else {
      await holding?.close()
      void start(built)
    }
  }

  async function start(built: ReadonlySet<string>): Promise<void> {
    if (isStopping) return
    const files = new Set([...starting, ...built])
    starting = files
    isWaiting = false
    const known = appendEdit(edits, files, Date.now())
    clearTimeout(slowStart)
    slowStart = setTimeout(onSlowStart, times.start)
    const result = await processes.start([
      ...(hasWarned ? ['--restarted'] : []),
      ...(known.length === 0 ? [] : [`--edits=${JSON.stringify(known)}`]),
    ])
    if (result === 'replaced') return
    clearTimeout(slowStart)
    if (typeof result === 'object') onFailedStart(result)
    else {
      edits = known
      starting = new Set()
      await holding?.close()
      await reportTypes()
      // Otherwise it would take the time of the check.
      if (!isStopping && directory !== packageDirectory) processes.prepare()
    }
  }

  /** Type errors stop nothing: the process shows them. */
  async function reportTypes(): Promise<void> {
    check.abort()
    check = new AbortController()
    const { signal } = check
    const broken = await sources.checkTypes(signal)
    if (!signal.aborted) processes.send({ broken, isCurrent: true })
  }

  /** If no process serves, requests wait for the process that starts. */
  function onSlowStart(): void {
    const message = `The application has not started within ${times.start / 1000} s. It is still starting.`
    // Without a shared socket the page would take the port of the process.
    if (socket !== undefined && !processes.isServing) void holding?.open([{ message }])
  }

  /** Waits for a change, unless another program, such as bin/test, was compiling when the process read dist/. */
  function onFailedStart({ code, problems, reason, startedAt }: FailedStart): void {
    if (!processes.isRunning && (code === 0 || code === usageError)) process.exit(code)
    const isRepaired = !isBusy && sources.isBuiltSince(startedAt)
    const subject = processes.isRunning ? 'The new process has ended' : 'The site has ended'
    const next = processes.isRunning ? 'the one before goes on, waiting for a change' : 'waiting for a change'
    console.error(`${subject} (${reason}): ${isRepaired ? 'dist/ has changed' : next}.`)
    isWaiting = !isRepaired
    if (isRepaired) onChange(true)
    else showProblems(problems)
  }

  function showProblems(problems: readonly SourceProblem[]): void {
    check.abort()
    if (processes.isRunning) processes.send({ broken: problems })
    else void holding?.open(problems)
  }

  /** A crash within the first moments may come back at each start: then the waits grow. */
  async function recover({ code, reason }: ProcessEnd, age: number): Promise<void> {
    if (code === 0 || code === usageError) process.exit(code)
    wait = Math.min(Math.max(2 * wait - age, firstWait), longestWait)
    console.error(`The site has ended (${reason}): starting again in ${(wait / 1000).toFixed(1)} s.`)
    if (wait > patience) await holding?.open()
    await delay(wait)
    if (processes.isRunning || isBusy || isStopping) return
    await holding?.close()
    void start(new Set())
  }

  /** `file` is absent if the compiled files have changed. */
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
    // Another build may end. It is of interest only if the latest process did not start.
    watch(sources.output, (_event, name) => {
      if (name === compiledMarker && isWaiting && !isBusy) onChange(true)
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
      while (hasChanged) {
        hasChanged = false
        await delay(quietTime)
      }
      if (isStale || isWaiting || !processes.isRunning) {
        isStale = false
        await restart()
      } else {
        edits = appendEdit(edits, changed, Date.now())
        processes.send({ reload: [...changed].slice(0, nameLimit) })
        changed = new Set()
      }
    }
    isBusy = false
  }

  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, async () => {
      isStopping = true
      check.abort()
      clearTimeout(slowStart)
      // An open socket would take connections that no process answers.
      socket?.close()
      await Promise.all([processes.stop(signal), holding?.close()])
      process.exit(0)
    })
  }
  await begin()
}

/** The options, or `undefined` for a mistake in them, which the main process reports. */
function readOptions(commandLine: readonly string[]): Options | undefined {
  try {
    const options = parseOptions(commandLine)
    return options === 'help' ? undefined : options
  } catch {
    return undefined
  }
}

const isSetting = (name: string) => /^(?:\.env(?:\.dev)?(?:\.local)?|tsconfig\.json)$/.test(name)
