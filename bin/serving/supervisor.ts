import { existsSync, watch } from 'node:fs'
import inspector from 'node:inspector'
import path from 'node:path'
import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import { packageDirectory } from '../../lib/package.ts'
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
import { defaultTimes, type ProcessTimes, SiteProcesses } from './site-processes.ts'
import { firstSupervision, isSetting, type SupervisorAction, type SupervisorEvent, supervision } from './supervision.ts'

/** A mistake of types does not stop the application. */
const lenient = { isLenient: true }

/**
 * Runs the main process as a child process. A changed source or .env file starts a new process, which takes
 * the place of the running one as soon as it serves: until then the running one answers, and it goes on if the
 * new one does not start. A process that crashes while it serves is replaced at once; without any process, the
 * supervisor waits for a change. After a change of a template or an asset the process reads its templates and
 * assets again. Each process is started with the latest edits: their times, and the names of their files.
 * Mistakes in the sources are sent to the running process with the message `broken`; without one, the port has
 * a page with the mistakes. `supervision` decides what happens; this function connects it with the machine.
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
  // Without a port of its own, no browser would find the page.
  const hasPort = socket !== undefined || (options !== undefined && options.port !== 0)
  const supervisor = new Supervisor({
    directory,
    commandLine,
    sources,
    times,
    socket,
    hasDebugger,
    holding: hasPort ? new HoldingPage(directory, commandLine, socket?.fd) : undefined,
  })
  for (const signal of ['SIGINT', 'SIGTERM'] as const) {
    process.on(signal, () => supervisor.handle({ type: 'stopped', signal }))
  }
  void supervisor.build()
  // It starts before the folders are watched, which takes some time.
  await nextTurn()
  watchFiles(directory, sources, supervisor)
}

interface SupervisorOptions {
  readonly directory: string
  readonly commandLine: readonly string[]
  readonly sources: Sources
  readonly times: ProcessTimes
  readonly socket: Awaited<ReturnType<typeof bindSharedSocket>>
  readonly hasDebugger: boolean
  readonly holding: HoldingPage | undefined
}

/** Performs the actions of {@link supervision}, and reports how they end. */
class Supervisor {
  readonly #options: SupervisorOptions
  readonly #processes: SiteProcesses
  #state = firstSupervision
  #hasBuilt = false
  /** Ends the check of types: only the last one counts, and none after another mistake. */
  #check = new AbortController()
  #slowStart: NodeJS.Timeout | undefined

  constructor(options: SupervisorOptions) {
    const { commandLine, directory, hasDebugger, holding, socket, times } = options
    this.#options = options
    this.#processes = new SiteProcesses({
      parameters: [directory, ...commandLine],
      socket: socket?.fd,
      times,
      mayOverlap: socket !== undefined && !hasDebugger,
      onReady: async () => {
        clearTimeout(this.#slowStart)
        await holding?.close()
      },
      onWarned: () => this.handle({ type: 'warned' }),
      onCrash: (end, age) => this.handle({ type: 'crashed', end, age }),
    })
  }

  handle(event: SupervisorEvent): void {
    const site = { isRunning: this.#processes.isRunning, now: Date.now() }
    const [state, actions] = supervision(this.#state, event, site)
    this.#state = state
    for (const action of actions) void this.#perform(action)
  }

  async #perform(action: SupervisorAction): Promise<void> {
    switch (action.type) {
      case 'build':
        return this.build()
      case 'checkTypes':
        return this.#checkTypes()
      case 'exit':
        return process.exit(action.code)
      case 'hold':
        this.#check.abort()
        return this.#options.holding?.open(action.problems)
      case 'say':
        return console.error(action.text)
      case 'send':
        if (typeof action.message === 'object' && 'broken' in action.message) this.#check.abort()
        return this.#processes.send(action.message)
      case 'settle':
        await delay(quietTime)
        return this.handle({ type: 'settled' })
      case 'start':
        return this.#start(action.parameters)
      case 'stop':
        return this.#stop(action.signal)
      case 'wait':
        await delay(action.time)
        return this.handle({ type: 'waited' })
    }
  }

  /** Compiles the sources: at first only if they are newer than the last build. */
  async build(): Promise<void> {
    // A check of the earlier sources would take the time of the compiler.
    this.#check.abort()
    const { sources } = this.#options
    const isCompiled = await (this.#hasBuilt ? sources.build(lenient) : sources.buildWhenStale(lenient))
    this.#hasBuilt = true
    this.handle({ type: 'built', ...(!isCompiled && { problems: sources.problems }) })
  }

  async #start(parameters: readonly string[]): Promise<void> {
    const { holding, sources, times } = this.#options
    await holding?.close()
    if (this.#state.isStopping) return
    clearTimeout(this.#slowStart)
    this.#slowStart = setTimeout(() => this.#onSlowStart(), times.start)
    const result = await this.#processes.start(parameters)
    if (result === 'replaced') return
    clearTimeout(this.#slowStart)
    if (result === 'serves') return this.handle({ type: 'serves' })
    const isRepaired = sources.isBuiltSince(result.startedAt)
    this.handle({ type: 'failed', end: result, problems: result.problems, isRepaired })
  }

  /** If no process serves, requests wait for the process that starts. */
  #onSlowStart(): void {
    const { holding, socket, times } = this.#options
    const message = `The application has not started within ${times.start / 1000} s. It is still starting.`
    // Without a shared socket the page would take the port of the process.
    if (socket !== undefined && !this.#processes.isServing) void holding?.open([{ message }])
  }

  /** Type errors stop nothing: the process shows them. */
  async #checkTypes(): Promise<void> {
    const { directory, holding, sources } = this.#options
    await holding?.close()
    this.#check.abort()
    this.#check = new AbortController()
    const { signal } = this.#check
    const broken = await sources.checkTypes(signal)
    if (!signal.aborted) this.#processes.send({ broken, isCurrent: true })
    // Otherwise it would take the time of the check.
    if (!this.#state.isStopping && directory !== packageDirectory) this.#processes.prepare()
  }

  async #stop(signal: 'SIGINT' | 'SIGTERM'): Promise<void> {
    this.#check.abort()
    clearTimeout(this.#slowStart)
    // An open socket would take connections that no process answers.
    this.#options.socket?.close()
    await Promise.all([this.#processes.stop(signal), this.#options.holding?.close()])
    process.exit(0)
  }
}

function watchFiles(directory: string, sources: Sources, supervisor: Supervisor): void {
  const isWatched = (folder: string) => mayContainSources(directory, folder)
  const toName = (file: string) => path.relative(directory, file)
  watchFolder(directory, isWatched, file => {
    const name = toName(file)
    // npm writes package.json after an installation: the package that the server lacked may be there now.
    const isStale = isSetting(name) || isSource(name) || name === 'package.json'
    if (isStale || isRead(name)) supervisor.handle({ type: 'changed', name, isRead: !isStale })
  })
  for (const folder of listPackageFolders(directory)) {
    watchFolder(folder, isWatched, file => {
      if (isVisible(file) && !isSource(file)) supervisor.handle({ type: 'changed', name: toName(file), isRead: true })
    })
  }
  if (sources.output === undefined || !existsSync(sources.output)) return
  watch(sources.output, (_event, name) => {
    if (name === compiledMarker) supervisor.handle({ type: 'compiled' })
  })
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
