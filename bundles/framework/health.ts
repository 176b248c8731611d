import { tmpdir } from 'node:os'
import type { HealthCheck } from '../../kernel/contracts/health-check.ts'
import type { DebugGate } from '../../kernel/debug/debug-gate.ts'
import { RequestEvent } from '../../kernel/events.ts'
import { after, type Eventual } from '../../kernel/steps.ts'
import { messageOfError } from '../../lib/errors/flat-error.ts'
import type { EventDispatcher } from '../../lib/event-dispatcher/event-dispatcher.ts'
import { checkFolder } from '../../lib/folders.ts'
import { isRetrieval } from '../../lib/http/conditions.ts'
import { isSafe } from '../../lib/http/request-target.ts'
import { Response } from '../../lib/http/response.ts'
import type { Logger } from '../../lib/log/logger.ts'
import type { Redactor } from '../../lib/redact/redactor.ts'
import type { Route } from '../../lib/routing/route.ts'
import { SESSION_STORE_UNREACHABLE } from '../../lib/session/errors.ts'
import type { SessionStore } from '../../lib/session/session-store.ts'
import type { Signals } from '../../lib/signals.ts'
import { FRAMEWORK_HEALTH_TIMEOUT } from './errors.ts'

/** After invalid requests are refused, and before listeners that may wait or fail. */
const priority = 255

interface HealthListenerServices {
  readonly signals: Signals
  readonly checks: HealthChecks
  readonly debugGate: Pick<DebugGate, 'allows'>
  readonly redactor: Redactor
}

/**
 * Health checks. `/_health/live` is 200 while the process answers. `/_health` is 200 while it is
 * ready: all checks that are not optional succeed, and the server does not drain.
 */
export class HealthListener {
  readonly #services: HealthListenerServices
  #isDraining = false

  constructor(services: HealthListenerServices) {
    this.#services = services
    services.signals.on('server.draining', () => {
      this.#isDraining = true
    })
  }

  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(RequestEvent, this, 'onRequest', priority)
  }

  onRequest(event: RequestEvent): Eventual<void> {
    const { method, path } = event.request
    if (!isHealthPath(path) || !isRetrieval(method)) return
    if (path === '/_health/live') return respond(event, 200, { status: 'live' })
    if (this.#isDraining) return respond(event, 503, { status: 'draining' })
    return after(this.#services.checks.run(), event, this.#respond)
  }

  /** Messages of errors may contain addresses: they are debug output. */
  readonly #respond = (event: RequestEvent, results: readonly HealthResult[]): void => {
    const { debugGate, redactor } = this.#services
    const failed = results.filter(({ hasFailed }) => hasFailed).map(({ name }) => name)
    const hasDetails = results.length > 0 && debugGate.allows(event.request)
    respond(event, failed.length === 0 ? 200 : 503, {
      status: failed.length === 0 ? 'ready' : 'failing',
      ...(failed.length > 0 && { failed }),
      ...(hasDetails && { checks: results.map(result => describe(result, redactor)) }),
    })
  }
}

/** Whether this listener answers the path, whatever its route. */
export function isHealthPath(path: string): boolean {
  return path === '/_health' || path === '/_health/live'
}

function describe({ duration, error, hasFailed, name }: HealthResult, redactor: Redactor): object {
  const ms = Math.round(duration * 10) / 10
  return { name, ms, ...(hasFailed && { error: messageOfError(error, text => redactor.text(text)) }) }
}

function respond(event: RequestEvent, status: number, body: object): void {
  event.respond(Response.json(body, { status, headers: { 'cache-control': 'no-store' } }))
}

/** The services of {@link createOwnChecks}. */
interface OwnCheckServices {
  readonly routes: Iterable<Route>
  readonly store: SessionStore
  /** Whether the application is known to use sessions. */
  readonly hasUsed: () => boolean
}

/**
 * Creates the checks of what the framework writes to when a request needs it: the store of
 * sessions, and the folder of uploads.
 *
 * The store is needed if sessions are known to be used, or if a route of an unsafe method, such as POST, is not
 * declared `_stateless`: only these should write to a session. If all routes are stateless, there are no sessions.
 */
export function createOwnChecks({ hasUsed, routes, store }: OwnCheckServices): readonly HealthCheck[] {
  const own = () => [...routes].filter(({ name }) => !name.startsWith('_'))
  const withState = () => own().filter(({ defaults }) => defaults._stateless !== true)
  let wasStored = false
  return [
    {
      name: 'sessions',
      get isOptional() {
        return !hasUsed() && !withState().some(isChanging)
      },
      async check() {
        if (!hasUsed() && withState().length === 0) return
        try {
          await store.check?.()
          wasStored = true
        } catch (error) {
          // All machines have the same outage: if none were ready, requests without a session would fail, too.
          if (!wasStored || !(error instanceof SESSION_STORE_UNREACHABLE)) throw error
        }
      },
    },
    {
      name: 'uploads',
      isOptional: true,
      check: () => (own().some(isChanging) ? checkFolder(tmpdir(), { isCreated: false }) : undefined),
    },
  ]
}

function isChanging({ methods }: Route): boolean {
  return methods.length === 0 || !methods.every(isSafe)
}

/** The outcome of a health check. */
interface HealthResult {
  readonly name: string
  /** Milliseconds. */
  readonly duration: number
  readonly hasFailed: boolean
  /** What was thrown, or the error of the timeout. */
  readonly error: unknown
}

/** Milliseconds. */
const defaultTimeout = 800

/** A timeout is counted in parts: while the event loop is blocked, a check cannot go on, and no part passes. */
const ticksOfTimeout = 8

/** Milliseconds for which results are kept: any number of requests causes at most one call of each check a second. */
const lifetime = 1_000

/**
 * Runs the health checks of all bundles, all at the same time. Logs when a check begins to fail,
 * and when it ends to fail.
 */
export class HealthChecks {
  readonly #checks: readonly HealthCheck[]
  readonly #logger: Logger
  readonly #clock: () => number
  #results: readonly HealthResult[] = []
  #end = Number.NEGATIVE_INFINITY
  #running: Promise<readonly HealthResult[]> | undefined
  /** The calls that have not ended, also after their timeout: a check that hangs is not called a second time. */
  readonly #calls = new Map<HealthCheck, Promise<unknown>>()
  readonly #failing = new Set<HealthCheck>()

  /** The list may grow until the first run. The clock gives milliseconds. */
  constructor(checks: readonly HealthCheck[], logger: Logger, clock: () => number = () => performance.now()) {
    this.#checks = checks
    this.#logger = logger.channel('health')
    this.#clock = clock
  }

  /** The results of the checks that are not optional. They are at most a second old. */
  run(): Eventual<readonly HealthResult[]> {
    if (this.#checks.length === 0 || this.#clock() < this.#end) return this.#results
    this.#running ??= this.#runNeeded()
    return this.#running
  }

  /** Runs all checks, so that the log names what cannot be used before a request needs it. */
  async runAll(): Promise<void> {
    await Promise.all(this.#checks.map(check => this.#run(check)))
  }

  async #runNeeded(): Promise<readonly HealthResult[]> {
    const needed = this.#checks.filter(({ isOptional }) => isOptional !== true)
    this.#results = await Promise.all(needed.map(check => this.#run(check)))
    this.#end = this.#clock() + lifetime
    this.#running = undefined
    return this.#results
  }

  async #run(check: HealthCheck): Promise<HealthResult> {
    const { name } = check
    const start = this.#clock()
    const { error, hasFailed } = await this.#call(check)
    const duration = this.#clock() - start
    if (hasFailed && !this.#failing.has(check)) {
      this.#failing.add(check)
      const level = check.isOptional === true ? 'warning' : 'error'
      this.#logger[level]('The health check "{name}" has failed.', { name, exception: error })
    } else if (!hasFailed && this.#failing.delete(check)) {
      this.#logger.warning('The health check "{name}" succeeds again.', { name })
    }
    return { name, duration, hasFailed, error }
  }

  async #call(check: HealthCheck): Promise<Pick<HealthResult, 'hasFailed' | 'error'>> {
    const { name, timeout = defaultTimeout } = check
    const controller = new AbortController()
    let timer: NodeJS.Timeout | undefined
    let ticks = 0
    const expired = new Promise((_resolve, reject) => {
      timer = setInterval(() => {
        if (++ticks < ticksOfTimeout) return
        const error = new FRAMEWORK_HEALTH_TIMEOUT([name, timeout])
        reject(error)
        controller.abort(error)
      }, timeout / ticksOfTimeout)
    })
    const result = await Promise.race([this.#begin(check, controller.signal), expired]).then(
      () => ({ hasFailed: false, error: undefined }),
      (error: unknown) => ({ hasFailed: true, error }),
    )
    clearInterval(timer)
    return result
  }

  /** Calls a check, unless its last call has not ended. */
  #begin(check: HealthCheck, signal: AbortSignal): Promise<unknown> {
    const known = this.#calls.get(check)
    if (known !== undefined) return known
    // The check may throw at once.
    const call = (async () => refuseFalse(await check.check(signal)))().finally(() => this.#calls.delete(check))
    this.#calls.set(check, call)
    return call
  }
}

/** A check that answers a question has failed, too. */
function refuseFalse(result: unknown): void {
  if (result === false) throw new Error('The check has returned false. An error would say why.')
}
