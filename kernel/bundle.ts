import type { Config } from '../lib/env/config.ts'
import type { EventDispatcher } from '../lib/event-dispatcher/event-dispatcher.ts'
import type { StaticFiles } from '../lib/http/static-files.ts'
import type { Logger } from '../lib/log/logger.ts'
import type { Redactor } from '../lib/redact/redactor.ts'
import type { RouteCollection } from '../lib/routing/route-collection.ts'
import type { UrlGenerator } from '../lib/routing/url-generator.ts'
import type { Signals } from '../lib/signals.ts'
import type { View } from '../lib/view/view.ts'
import type { Controller, RequestHandler } from './controller/controller.ts'
import type { ControllerResolver } from './controller/controller-resolver.ts'
import type { DebugGate } from './debug-gate.ts'
import type { HttpKernel } from './http-kernel.ts'
import type { RequestContext } from './request-context.ts'

/** A feature: it adds its routes, listeners, templates' helpers and files to the application when the kernel boots. */
export interface Bundle {
  readonly name: string
  register(app: Application): void | Promise<void>
  /** Gives back what the bundle holds when the kernel closes; bundles are closed in reverse order. */
  close?(): void | Promise<void>
}

/** What a bundle may use. */
export interface Application {
  readonly config: Config
  /** The project's root: templates, `var/` and sources are below it. */
  readonly directory: string
  readonly dispatcher: EventDispatcher
  readonly routes: RouteCollection<Controller | RequestHandler>
  readonly urls: UrlGenerator
  readonly view: View
  readonly files: StaticFiles
  readonly controllers: ControllerResolver
  readonly kernel: HttpKernel
  readonly context: RequestContext
  readonly debugGate: DebugGate
  readonly logger: Logger
  readonly redactor: Redactor
  readonly signals: Signals
}
