/// <reference types="node" preserve="true" />
// For everything that a bundle is made of: routes, controllers, listeners, views, sessions, errors.

import '../profiling/preloaded.ts'

export type { ExceptionRule } from '../../bundles/framework/exception-rules.ts'
export { createFrameworkBundle } from '../../bundles/framework/framework-bundle.ts'
export type { FrameworkOptions } from '../../bundles/framework/options.ts'
export { createTranslationCommand, type TranslationOptions } from '../../bundles/framework/translations.ts'
export { measureSqlite, type SqliteDatabase, type SqliteStatement } from '../../bundles/libraries/measure-sqlite.ts'
export { createPageCache, type PageCache, type PageCacheOptions } from '../../bundles/page-cache/page-cache.ts'
export {
  type CheckedForm,
  checkedForm,
  cookieValue,
  failedRequest,
  formBody,
  headerValue,
  inputsOf,
  jsonBody,
  queryValue,
  queryValues,
  type RouteInput,
  routeParameter,
  routeParameters,
  uploadedFile,
} from '../../kernel/argument-sources.ts'
export type {
  Application,
  Bundle,
  Foundation,
  Routes,
} from '../../kernel/bundle.ts'
export type { ExplainConnection, Explainer } from '../../kernel/contracts/collectors.ts'
export { dump } from '../../kernel/contracts/dump.ts'
export type { Guard } from '../../kernel/contracts/guard.ts'
export type { HealthCheck } from '../../kernel/contracts/health-check.ts'
export { type Mail, type MailAttachment, recordMail } from '../../kernel/contracts/mails.ts'
export type {
  Queries,
  QueryEnd,
  QueryObserver,
  QueryParameters,
  QueryResult,
  QueryStart,
} from '../../kernel/contracts/queries.ts'
export { profile } from '../../kernel/contracts/units.ts'
export { type Controller, defineController, toController } from '../../kernel/controller.ts'
export { isDebugOn } from '../../kernel/debug/debug-gate.ts'
export {
  ControllerArgumentsEvent,
  ControllerEvent,
  ExceptionEvent,
  type FinishedRequest,
  FinishRequestEvent,
  KernelEvent,
  RequestEvent,
  ResponseEvent,
  TerminateEvent,
  ViewEvent,
} from '../../kernel/events.ts'
export type { HttpKernel } from '../../kernel/http-kernel.ts'
export {
  type FetchHandler,
  type FetchHandlerOptions,
  mountFetchHandler,
  toFetchHandler,
} from '../../kernel/interop/fetch-handlers.ts'
export { kernelRequestOf, type MountOptions } from '../../kernel/interop/mount.ts'
export { addNodeMiddleware, mountNodeHandler, type NodeHandler } from '../../kernel/interop/node-handlers.ts'
// Without names: it declares the attributes of the kernel.
export type * from '../../kernel/request-attributes.ts'
export type { RequestContext } from '../../kernel/request-context.ts'
export {
  type UpgradeHandler,
  WebSocketUpgrade,
  type WebSocketUpgradeOptions,
} from '../../kernel/server/websocket-upgrade.ts'
export { type FormData, UploadedFile } from '../../lib/body/form-data.ts'
export type { Config } from '../../lib/env/config.ts'
export {
  type BundleSettings,
  defineSettings,
} from '../../lib/env/settings.ts'
export { type CodedErrorClass, defineError, HttpError } from '../../lib/errors/http-error.ts'
export {
  type DispatchOptions,
  Event,
  type EventClass,
  EventDispatcher,
  type Listener,
  type RegisteredListener,
} from '../../lib/event-dispatcher/event-dispatcher.ts'
export type { CachePolicy } from '../../lib/http/cache-policy.ts'
export { type CookieOptions, setCookie } from '../../lib/http/cookies.ts'
export type { CorsPolicy } from '../../lib/http/cors.ts'
export { EventStream, type EventStreamOptions, type ServerEvent } from '../../lib/http/event-stream.ts'
export {
  contentDisposition,
  createFileResponse,
  type Disposition,
  FileResponse,
  type FileResponseOptions,
} from '../../lib/http/file-response.ts'
export { Headers } from '../../lib/http/headers.ts'
export { preferredLanguage, preferredMediaType } from '../../lib/http/negotiation.ts'
export { type KnownAttributes, Request } from '../../lib/http/request.ts'
export { Response } from '../../lib/http/response.ts'
export type { Logger } from '../../lib/log/logger.ts'
export type { RouteDefinition } from '../../lib/routing/route.ts'
export type { RequestHandler } from '../../lib/routing/route-collection.ts'
export type { KnownRoutes, RouteName, UrlArguments, UrlParameters } from '../../lib/routing/route-names.ts'
export type { Argument } from '../../lib/routing/sources.ts'
export type { UrlGenerator } from '../../lib/routing/url-generator.ts'
export type { StandardSchema } from '../../lib/schema/standard-schema.ts'
export type { Secrets } from '../../lib/secrets.ts'
export type { Session } from '../../lib/session/session.ts'
export {
  type CreateSessionStore,
  MemorySessionStore,
  type SessionChange,
  type SessionData,
  type SessionStore,
} from '../../lib/session/session-store.ts'
export type { SignalMap, Signals } from '../../lib/signals.ts'
export {
  asDate,
  asFlag,
  asId,
  asInteger,
  asIntegerFrom,
  asListOf,
  asOneOf,
  asText,
  asUrl,
  asUuid,
  type Conversion,
} from '../../lib/text/conversion.ts'
export { type Helper, HtmlFragment, type View, type ViewModel } from '../../lib/view/view.ts'
