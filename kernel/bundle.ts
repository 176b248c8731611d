import type { Config } from '../lib/env/config.ts'
import type { BundleSettings, Settings } from '../lib/env/settings.ts'
import type { EventDispatcher } from '../lib/event-dispatcher/event-dispatcher.ts'
import type { KnownAttributes, Request } from '../lib/http/request.ts'
import type { StaticFiles } from '../lib/http/static-files.ts'
import type { Logger } from '../lib/log/logger.ts'
import type { Redactor } from '../lib/redact/redactor.ts'
import type { RouteCollection, RouteDeclarations } from '../lib/routing/route-collection.ts'
import type { UrlGenerator } from '../lib/routing/url-generator.ts'
import type { Secrets } from '../lib/secrets.ts'
import type { SessionUse } from '../lib/session/session-state.ts'
import type { SignalMap, Signals } from '../lib/signals.ts'
import type { ShapeOf } from '../lib/text/mistakes.ts'
import type { View } from '../lib/view/view.ts'
import type { Contributions } from './contracts/contributions.ts'
import type { Queries } from './contracts/queries.ts'
import type { Controller, ControllerResolver } from './controller.ts'
import type { DebugGate } from './debug/debug-gate.ts'
import type { FinishedRequest } from './events.ts'
import type { HttpKernel } from './http-kernel.ts'
import type { LastResort } from './last-resort.ts'
import type { RequestContext } from './request-context.ts'

declare module '../lib/signals.ts' {
  interface SignalMap {
    /** Templates and static files have changed, and were read again; at most 50, relative to the application. */
    'files.changed': { readonly files: readonly string[] }
    /** All bundles are registered and checked, and requests may arrive. Not emitted for console commands. */
    'kernel.booted': undefined
    /**
     * The development server has started this process again. `edits` are the latest edits until
     * then, the oldest first: when the edited files came into use, in milliseconds since 1970, and
     * at most 50 files, relative to the application.
     */
    'process.restarted': { readonly edits: readonly { readonly time: number; readonly files: readonly string[] }[] }
    /**
     * In development, changed files have mistakes. Without problems, all are corrected. `served`
     * is the version that answers requests: the current one, if the mistakes are type errors; an
     * older one, if the changed files cannot be used; or nothing.
     */
    'sources.broken': { readonly problems: readonly SourceProblem[]; readonly served: 'current' | 'older' | 'nothing' }
    /**
     * A session was read or changed, for the main request or one of its sub-requests. `request` is the main request.
     */
    'session.used': { readonly request: Request; readonly use: SessionUse }
    /** A main request is over: its response was sent, its client has left, or the stream of its response has failed. */
    'request.finished': FinishedRequest
    /**
     * `worker` is the number of the worker, from 1; the worker that takes its place has the same.
     * It is 1 without workers.
     */
    'server.listening': { readonly url: string; readonly worker: number }
    /** The server takes no new requests, and waits for those that run: end long streams and open sockets. */
    'server.draining': undefined
    /** The last connection is closed. */
    'server.closed': undefined
  }
}

/** The names of the signals of the kernel and of the server. */
export const kernelSignals: readonly (keyof SignalMap)[] = [
  'files.changed',
  'kernel.booted',
  'process.restarted',
  'sources.broken',
  'session.used',
  'request.finished',
  'server.listening',
  'server.draining',
  'server.closed',
]

/** A mistake in a file of the application, such as one that the compiler has found. */
export interface SourceProblem {
  readonly message: string
  /** An absolute path; absent if the place is not known. */
  readonly file?: string
  /** From 1. */
  readonly line?: number
  /** From 1. */
  readonly column?: number
}

/** A feature. It adds its routes, listeners, template helpers and files to the application when the kernel boots. */
export interface Bundle {
  /** Unique in the application. Folders of templates and assets have this name. */
  readonly name: string
  /**
   * Whether its listeners are also called for the requests of {@link Contributions.isolated}. The
   * listeners of other bundles are not: a page that explains a failing listener must not fail with it.
   * Its templates have tests: where no others are, they are not checked.
   */
  readonly isCore?: boolean
  /**
   * The absolute path of a folder with templates, whose names begin with the name of the bundle. A
   * file of the same name in the application's `templates/<name of the bundle>/` comes first. A
   * bundle of an application has its templates there, and needs no folder.
   */
  readonly templates?: string
  /**
   * The absolute path of the folder whose files are served below `/assets/<name of the bundle>/`.
   * For a bundle that names no folder for its templates either, the default is the application's
   * `bundles/<name of the bundle>/assets`, if it exists.
   */
  readonly assets?: string
  /** The settings that the bundle declares with `defineSettings()`. Their values: `app.settings.of(settings)`. */
  readonly settings?: BundleSettings
  /**
   * The defaults of routes that its listeners read, such as `_role`. A route with another default
   * that begins with `_` ends the start: it may be mistyped, and then nothing protects the route.
   */
  readonly routeDefaults?: readonly RouteDefault[]
  /** Wraps services of the application, before any bundle is registered: the profiler adds its tracing here. */
  decorate?(foundation: Foundation): Foundation
  /** Adds the parts of the bundle. It is called once, in the order of the list of bundles, before the first request. */
  register(app: Application): void | Promise<void>
  /**
   * Releases the resources of the bundle when the kernel closes, or the start fails, also by an
   * error of this bundle. Bundles are closed in reverse order.
   */
  close?(): void | Promise<void>
}

/** The name of an attribute that the default of a route can set for listeners: one of `KnownAttributes`. */
type RouteDefault = Extract<keyof KnownAttributes, `_${string}`>

/** The shape of a bundle. */
export const bundleShape: ShapeOf<Bundle> = {
  name: 'string',
  isCore: 'boolean',
  templates: 'string',
  assets: 'string',
  settings: 'object',
  routeDefaults: ['string'],
  decorate: 'sync function',
  register: 'function',
  close: 'function',
}

/** The services that a bundle may wrap in `decorate`, before any bundle is registered. */
export interface Foundation extends Contributions {
  /** The kernel's own settings. */
  readonly config: Config
  /** The settings of bundles. */
  readonly settings: Settings
  /** The directory of the application, with its bundles, templates, settings and `var/`. */
  readonly directory: string
  /** Adds listeners: `dispatcher.on(RequestEvent, listener, priority)`. */
  readonly dispatcher: EventDispatcher
  /** Renders templates: `view.render(name, model, request)`. */
  readonly view: View
  /** The request that the running code belongs to, also behind an `await`. */
  readonly context: RequestContext
  /** Reports the queries of databases and caches, which the profiler records. */
  readonly queries: Queries
  /** Decides for each request whether its response may contain debug output. */
  readonly debugGate: DebugGate
  /** Writes the log, with the request that the running code belongs to. */
  readonly logger: Logger
  /** Masks secrets in texts and values before they are logged or stored. */
  readonly redactor: Redactor
  /** Signs and encrypts texts that clients keep, such as cookies. */
  readonly secrets: Secrets
  /** Emits signals, and adds their handlers: `signals.on(name, handler)`. */
  readonly signals: Signals
  /** The names of all bundles, in the order in which they are registered. */
  readonly bundles: readonly string[]
  /** Answers an error that nothing else could answer. */
  readonly lastResort: LastResort
}

/** The routes of an application, or of a group: for functions that declare a part of them. */
export type Routes = RouteDeclarations<Controller>

/** The services that a bundle may use. */
export interface Application extends Foundation {
  /** Declares routes: `routes.get(name, path, controller)`. */
  readonly routes: RouteCollection<Controller>
  /** Generates URLs of routes by their names. */
  readonly urls: UrlGenerator
  /** The static files of bundles, and their URLs with fingerprints. */
  readonly files: StaticFiles
  /** Finds the controller of a request, also by its name. */
  readonly controllers: ControllerResolver
  /** Handles requests: for sub-requests, and other requests of the application itself. */
  readonly kernel: HttpKernel
}
