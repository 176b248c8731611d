import type { Config } from '../lib/env/config.ts'
import type { EventDispatcher } from '../lib/event-dispatcher/event-dispatcher.ts'
import type { Request } from '../lib/http/request.ts'
import type { StaticFiles } from '../lib/http/static-files.ts'
import type { Logger } from '../lib/log/logger.ts'
import type { Redactor } from '../lib/redact/redactor.ts'
import type { RouteCollection } from '../lib/routing/route.ts'
import type { UrlGenerator } from '../lib/routing/url-generator.ts'
import type { SessionUse } from '../lib/session/session.ts'
import type { Signals } from '../lib/signals.ts'
import type { View } from '../lib/view/view.ts'
import type { CommandSource } from './console-command.ts'
import type { Controller, RequestHandler } from './controller.ts'
import type { ControllerResolver } from './controller-resolver.ts'
import type { DebugGate } from './debug-gate.ts'
import type { HttpKernel } from './http-kernel.ts'
import type { LastResort } from './last-resort.ts'
import type { Collector, FindingRule } from './profiler-contract.ts'
import type { RequestContext } from './request-context.ts'

declare module '../lib/signals.ts' {
  interface SignalMap {
    /** Files were changed, and those that are served or rendered have been read again. */
    'files.changed': undefined
    /** All is registered and checked, and requests may come; not said where a console command runs that sends none. */
    'kernel.booted': undefined
    /** A session was read or changed, for the main request or one of its sub-requests. `request` is the main request. */
    'session.used': { readonly request: Request; readonly use: SessionUse }
  }
}

/** A feature: it adds its routes, listeners, templates' helpers and files to the application when the kernel boots. */
export interface Bundle {
  readonly name: string
  /**
   * Whether its listeners also see the requests that {@link Application.isolated} names. Of those, the listeners of all
   * other bundles are not notified: the pages that explain a failing listener must not fail with it.
   */
  readonly isCore?: boolean
  /** Wraps what the application is built upon, before any bundle is registered: how tracing is added. */
  decorate?(foundation: Foundation): Foundation
  register(app: Application): void | Promise<void>
  /** Gives back what the bundle holds when the kernel closes; bundles are closed in reverse order. */
  close?(): void | Promise<void>
}

/** What an application is built upon. */
export interface Foundation {
  readonly config: Config
  /** The project's root: templates, `var/` and sources are below it. */
  readonly directory: string
  readonly dispatcher: EventDispatcher
  readonly view: View
  readonly context: RequestContext
  /** Decides for each request whether its response may contain debug output. */
  readonly debugGate: DebugGate
  readonly logger: Logger
  readonly redactor: Redactor
  readonly signals: Signals
  /** The names of all bundles, in the order in which they are registered. */
  readonly bundles: readonly string[]
  /** What bundles add to the profiles of requests; nobody asks them where there is no profiler. */
  readonly collectors: Collector[]
  /** Names that no collector of a bundle may have: those of the profiler's own collectors and panels. */
  readonly reservedCollectors: string[]
  /** Flaws that bundles know to look for in the profiles of requests, beside those that the profiler looks for. */
  readonly findingRules: FindingRule[]
  /** What bundles add to `bin/console`; a server has no use for it, and loads none that are given by a function. */
  readonly commands: CommandSource[]
  /** Answers an error that nothing else has answered. */
  readonly lastResort: LastResort
  /** Tests of main requests; where one is true, only the listeners of core bundles are notified of the request. */
  readonly isolated: ((request: Request) => boolean)[]
}

/** What a bundle may use. */
export interface Application extends Foundation {
  readonly routes: RouteCollection<Controller | RequestHandler>
  readonly urls: UrlGenerator
  readonly files: StaticFiles
  readonly controllers: ControllerResolver
  readonly kernel: HttpKernel
}
