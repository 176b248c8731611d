import path from 'node:path'
import type { SourceProblem } from '../../kernel/bundle.ts'
import { exitCodes } from '../../kernel/contracts/console-command.ts'
import { appendEdit, type Edit, nameLimit } from '../application/edits.ts'
import type { ToMainProcess } from './child-processes.ts'
import type { ProcessEnd } from './site-processes.ts'

/** Milliseconds before a process that has crashed is started again. */
const firstWait = 100
const longestWait = 30_000
/** In a shorter time, requests wait for the next process. In a longer one, they get a page. */
const patience = 1_000

/** What the supervisor knows. */
export interface Supervision {
  /** It waits until no file changes any more (`settling`), for the compiler (`building`), or for a change (`idle`). */
  readonly work: 'settling' | 'building' | 'idle'
  /** Whether a file has changed since this work began. */
  readonly hasChanged: boolean
  /** Whether one of the changes needs a new process. */
  readonly isStale: boolean
  /** The files that have changed since the compiler began, or since the process has read its templates. */
  readonly changed: ReadonlySet<string>
  /** The changed files that are compiled now. */
  readonly built: ReadonlySet<string>
  /**
   * The changed files of the processes that were started and have not served yet, and when the latest one was started.
   */
  readonly starting: ReadonlySet<string>
  readonly startedAt: number
  /** The latest edits that a process has worked with, the oldest first. */
  readonly edits: readonly Edit[]
  /** Whether the latest process did not start. */
  readonly hasFailed: boolean
  /** Whether a process has printed the texts that are printed once. */
  readonly hasWarned: boolean
  /** Milliseconds of the wait after the last crash. */
  readonly wait: number
  readonly isStopping: boolean
}

/** What happens to the supervisor. */
export type SupervisorEvent =
  /** The compiler has ended: with mistakes, or the sources are compiled. */
  | { readonly type: 'built'; readonly problems?: readonly SourceProblem[] }
  /**
   * A file has changed, with its name relative to the application. The running process can read it
   * again (`isRead`), or is stale.
   */
  | { readonly type: 'changed'; readonly name: string; readonly isRead: boolean }
  /** Another program has compiled the sources. */
  | { readonly type: 'compiled' }
  /** A process that served has ended by itself, after these milliseconds. */
  | { readonly type: 'crashed'; readonly end: ProcessEnd; readonly age: number }
  /** A process has not started. Since its start, another program may have compiled the sources. */
  | {
      readonly type: 'failed'
      readonly end: ProcessEnd
      readonly problems: readonly SourceProblem[]
      readonly isRepaired: boolean
    }
  | { readonly type: 'serves' }
  /** A time has passed without a change. */
  | { readonly type: 'settled' }
  | { readonly type: 'stopped'; readonly signal: 'SIGINT' | 'SIGTERM' }
  | { readonly type: 'waited' }
  | { readonly type: 'warned' }

/** What the supervisor does. */
export type SupervisorAction =
  | { readonly type: 'build' }
  | { readonly type: 'checkTypes' }
  | { readonly type: 'exit'; readonly code: number }
  /** Shows a page in the place of the application. */
  | { readonly type: 'hold'; readonly problems: readonly SourceProblem[] }
  | { readonly type: 'say'; readonly text: string }
  | { readonly type: 'send'; readonly message: ToMainProcess }
  | { readonly type: 'settle' }
  | { readonly type: 'start'; readonly parameters: readonly string[] }
  | { readonly type: 'stop'; readonly signal: 'SIGINT' | 'SIGTERM' }
  | { readonly type: 'wait'; readonly time: number }

/** What the supervisor knows next, and what it does. */
type Step = readonly [state: Supervision, actions: readonly SupervisorAction[]]

/** The processes of the application, at the time of an event. */
interface Site {
  /** Whether a process serves or starts. */
  readonly isRunning: boolean
  /** Milliseconds since 1970. */
  readonly now: number
}

/** What the supervisor knows before its first build. */
export const firstSupervision: Supervision = {
  work: 'building',
  hasChanged: false,
  isStale: false,
  changed: new Set(),
  built: new Set(),
  starting: new Set(),
  startedAt: 0,
  edits: [],
  hasFailed: false,
  hasWarned: false,
  wait: 0,
  isStopping: false,
}

/** Whether a file of the application has settings: they decide on the texts that are printed once. */
export const isSetting = (name: string): boolean => /^(?:\.env(?:\.dev)?(?:\.local)?|tsconfig\.json)$/.test(name)

/** Decides what the supervisor does after an event. One change is handled after another. */
export function supervision(state: Supervision, event: SupervisorEvent, site: Site): Step {
  // A second signal goes to the processes that are ending.
  if (state.isStopping && event.type !== 'stopped') return [state, []]
  switch (event.type) {
    case 'built':
      return afterBuild(state, event.problems, site)
    case 'changed':
      return afterChange(state, event.name, event.isRead)
    case 'compiled':
      // It is of interest only if the latest process did not start.
      return state.hasFailed && state.work === 'idle'
        ? goOn({ ...state, hasChanged: true, isStale: true })
        : [state, []]
    case 'crashed':
      return afterCrash(state, event.end, event.age)
    case 'failed':
      return afterFailure(state, event, site)
    case 'serves': {
      const edits = appendEdit(state.edits, state.starting, state.startedAt)
      return [{ ...state, edits, starting: new Set() }, [{ type: 'checkTypes' }]]
    }
    case 'settled':
      return afterChanges(state, site)
    case 'stopped':
      return [{ ...state, isStopping: true }, [{ type: 'stop', signal: event.signal }]]
    case 'waited':
      return site.isRunning || state.work !== 'idle' ? [state, []] : start(state, new Set(), site)
    case 'warned':
      return [{ ...state, hasWarned: true }, []]
  }
}

function afterChange(state: Supervision, name: string, isRead: boolean): Step {
  // Editors and other tools write temporary files whose names have no extension.
  const isNamed = isSetting(name) || path.extname(name) !== ''
  const changed = isNamed ? union(state.changed, [name]) : state.changed
  const hasWarned = state.hasWarned && !isSetting(name)
  const next = { ...state, changed, hasWarned, hasChanged: true, isStale: state.isStale || !isRead }
  return state.work === 'idle' ? goOn(next) : [next, []]
}

/** Begins with the changes since the last work, if there are any. */
function goOn(state: Supervision): Step {
  return state.hasChanged
    ? [{ ...state, work: 'settling', hasChanged: false }, [{ type: 'settle' }]]
    : [{ ...state, work: 'idle' }, []]
}

function afterChanges(state: Supervision, { isRunning, now }: Site): Step {
  if (state.hasChanged) return goOn(state)
  const { changed } = state
  // The compiler may miss a change that happens while it is at work: the next start has it.
  if (state.isStale || state.hasFailed || !isRunning)
    return [{ ...state, work: 'building', isStale: false, built: changed, changed: new Set() }, [{ type: 'build' }]]
  const edits = appendEdit(state.edits, changed, now)
  const message = { reload: [...changed].slice(0, nameLimit) }
  return [{ ...state, work: 'idle', edits, changed: new Set() }, [{ type: 'send', message }]]
}

/** If the sources do not compile, the running process goes on. */
function afterBuild(state: Supervision, problems: readonly SourceProblem[] | undefined, site: Site): Step {
  if (problems === undefined) {
    const [started, starts] = start(state, state.built, site)
    const [next, actions] = goOn(started)
    return [next, [...starts, ...actions]]
  }
  const [next, actions] = goOn({ ...state, changed: union(state.built, state.changed) })
  const subject = site.isRunning ? 'What was compiled before goes on' : 'Nothing is started'
  return [next, [{ type: 'say', text: `${subject}: waiting for a change.` }, show(problems, site), ...actions]]
}

/** Starts a process with the changes that were compiled, and those of the processes that have not served. */
function start(state: Supervision, built: ReadonlySet<string>, { now }: Site): Step {
  const starting = union(state.starting, built)
  const edits = appendEdit(state.edits, starting, now)
  const parameters = [
    ...(state.hasWarned ? ['--restarted'] : []),
    ...(edits.length === 0 ? [] : [`--edits=${JSON.stringify(edits)}`]),
  ]
  return [{ ...state, starting, startedAt: now, hasFailed: false }, [{ type: 'start', parameters }]]
}

/** Waits for a change, unless another program, such as bin/test, was compiling when the process read dist/. */
function afterFailure(state: Supervision, event: Extract<SupervisorEvent, { type: 'failed' }>, site: Site): Step {
  const { code, reason } = event.end
  if (!site.isRunning && isFinal(code)) return [state, [{ type: 'exit', code }]]
  const isRepaired = event.isRepaired && state.work === 'idle'
  const subject = site.isRunning ? 'The new process has ended' : 'The site has ended'
  const next = site.isRunning ? 'the one before goes on, waiting for a change' : 'waiting for a change'
  const text = `${subject} (${reason}): ${isRepaired ? 'dist/ has changed' : next}.`
  if (!isRepaired) return [{ ...state, hasFailed: true }, [{ type: 'say', text }, show(event.problems, site)]]
  const [settling, actions] = goOn({ ...state, hasChanged: true, isStale: true })
  return [settling, [{ type: 'say', text }, ...actions]]
}

/** A crash within the first moments may come back at each start: then the waits grow. */
function afterCrash(state: Supervision, { code, reason }: ProcessEnd, age: number): Step {
  if (isFinal(code)) return [state, [{ type: 'exit', code }]]
  const wait = Math.min(Math.max(2 * state.wait - age, firstWait), longestWait)
  const text = `The site has ended (${reason}): starting again in ${(wait / 1000).toFixed(1)} s.`
  const page: SupervisorAction[] = wait > patience ? [{ type: 'hold', problems: [] }] : []
  return [{ ...state, wait }, [{ type: 'say', text }, ...page, { type: 'wait', time: wait }]]
}

/** The running process shows the mistakes, or else a page in its place. */
function show(problems: readonly SourceProblem[], { isRunning }: Site): SupervisorAction {
  return isRunning ? { type: 'send', message: { broken: problems } } : { type: 'hold', problems }
}

/**
 * Whether a process has ended as it should, or by an error that no change of a file can correct,
 * such as a port that is taken.
 */
function isFinal(code: number | null): code is number {
  return code === exitCodes.success || code === exitCodes.usage
}

function union(first: ReadonlySet<string>, second: Iterable<string>): ReadonlySet<string> {
  return new Set([...first, ...second])
}
