import { types } from 'node:util'
import { currentMessage, report } from '../../kernel/contracts/functions.ts'
import { guard } from '../../lib/guard.ts'
import { observeMethod } from '../../lib/observe-calls.ts'
import { readClock } from '../../lib/own-globals.ts'
import { readProperty } from '../../lib/text/describe-value.ts'
import type { Library } from './library.ts'
import { createApiSpan, type LibrarySpan, noSpan } from './spans.ts'
import { hasProvider } from './spans-api.ts'

/** Next.js makes spans of what it does, but not of its compilations. */
export const next: Library = {
  name: 'next',
  reports: 'functions',
  seenBy: 'spans',
  from: '15',
  notSeen:
    'in the Edge runtime, where the middleware of version 15 runs: phases, functions and the lines of calls; in production, errors of API routes of the Pages Router',
  ownPaths: ['/_next/static/', '/_next/image', '/_next/webpack-hmr', '/__nextjs_'],
  spans: {
    tracer: 'next.js',
    describe: span => works[String(span.attributes['next.span_type'])]?.(span),
    findRoute(span) {
      // A handler of the Pages Router has its route only in the name of its span.
      const [, ofHandler] = /^executing api route \(pages\) (\/.*)/.exec(span.name) ?? []
      const { 'next.route': route = ofHandler } = span.attributes
      return typeof route !== 'string' || ownPages.test(route) ? undefined : route
    },
    // The application may catch the error of a call of fetch. Without a catch, another span has it, too.
    isFailure: (error, { attributes }) => attributes['next.span_type'] !== 'AppRender.fetch' && isFailure(error),
  },
  changes: {
    'next/dist/server/lib/trace/tracer.js': reportErrors,
    'next/dist/server/lib/dev-bundler-service.js': watchCompilations,
    'next/dist/server/next-server.js': watchEdge,
    // It starts a process that finds the paths of a page for which they are to be generated.
    'next/dist/server/dev/next-dev-server.js': exports =>
      measureCalls(Object(readProperty(exports, 'default')).prototype, 'getStaticPaths', 'static paths', 'pathname'),
  },
}

/**
 * Redirects, answers such as 404 and the search for a page are thrown, too. React also throws
 * copies of errors, with addresses of its own.
 */
function isFailure(error: unknown): boolean {
  if (!types.isNativeError(error) || error.name === 'PageNotFoundError') return false
  const isAnswer = /^NEXT_|^BAILOUT/.test(String(readProperty(error, 'digest')))
  return !isAnswer && !String(readProperty(error, 'stack')).includes('about://React/')
}

function reportFailure(error: unknown): void {
  if (isFailure(error)) report(currentMessage, work => work.fail(error))
}

const ownPages = /^\/(?:_error|_not-found|_global-error|404|500)$/

/** What is shown, by the types of spans. The others contain these, or are short. */
const works: Readonly<Record<string, NonNullable<Library['spans']>['describe']>> = {
  'Middleware.execute': () => ({ phase: 'middleware', name: 'middleware' }),
  'LoadComponents.loadRouteModule': () => ({ phase: 'loading', name: 'modules of the route' }),
  'NextNodeServer.createComponentTree': () => ({ phase: 'component tree', name: 'build component tree' }),
  'ResolveMetadata.generateMetadata': span => ({ phase: 'metadata', name: toName(span, 'generateMetadata') }),
  'AppRender.getBodyResult': span => ({ phase: 'rendering', name: toName(span, 'page') }),
  'Render.renderDocument': span => ({ phase: 'rendering', name: toName(span, 'page') }),
  'Render.getServerSideProps': () => ({ phase: 'data', name: 'getServerSideProps' }),
  'Render.getStaticProps': () => ({ phase: 'data', name: 'getStaticProps' }),
  'AppRouteRouteHandlers.runHandler': span => ({ phase: 'handler', name: toName(span, 'route handler') }),
  'Node.runHandler': span => ({ phase: 'handler', name: toName(span, 'API route') }),
}

function toName({ attributes, name }: LibrarySpan, kind: string): string {
  const place = attributes['next.route'] ?? attributes['next.page'] ?? name.slice(name.lastIndexOf(' ') + 1)
  return `${kind} ${String(place).replace(/\/(?:page|route)$/, '') || '/'}`
}

/**
 * The service of the development server gets the object that compiles pages, and sets this
 * property, when it is created.
 */
function watchCompilations(exports: unknown): void {
  const { prototype } = Object(readProperty(exports, 'DevBundlerService'))
  if (typeof prototype !== 'object') return
  Object.defineProperty(prototype, 'ensurePage', {
    configurable: true,
    set(this: { readonly bundler?: { readonly hotReloader?: object } }, value: unknown) {
      measureCalls(this.bundler?.hotReloader, 'ensurePage', 'compilation', 'page')
      Object.defineProperty(this, 'ensurePage', { configurable: true, enumerable: true, writable: true, value })
    },
  })
}

/** The Edge runtime has globals of its own, and so spans of its own. Its calls of `fetch` are those of the process. */
function watchEdge(exports: unknown): void {
  const { prototype } = Object(readProperty(exports, 'default'))
  for (const name of ['runEdgeFunction', 'runMiddleware']) {
    observeMethod(prototype, name, () => ({
      after(result) {
        void Promise.resolve(result).catch(reportFailure)
      },
    }))
  }
}

/** Measures the calls of an asynchronous method that succeed, whose first value names the work by a property. */
function measureCalls(owner: object | undefined, method: string, phase: string, property: string): void {
  observeMethod(owner, method, (_, [given]) => {
    const start = readClock()
    const end = () => {
      const elapsed = readClock() - start
      if (elapsed < leastWork) return
      report(currentMessage, work => work.measure(phase, String(readProperty(given, property)), elapsed)(false))
    }
    return {
      after(result) {
        // A page that does not exist is looked for in this way, too.
        void Promise.resolve(result).then(end, () => undefined)
      },
    }
  })
}

/** Milliseconds. A page that is compiled already takes less. */
const leastWork = 10

/**
 * The span of the rendering: an error that is thrown in a component is recorded on the active
 * span, which no context has without a provider of the application.
 */
function reportErrors(exports: unknown): void {
  const getTracer = readProperty(exports, 'getTracer')
  if (typeof getTracer !== 'function') return
  const span = { ...createApiSpan(noSpan), recordException: guard('an error', reportFailure) }
  observeMethod(Object.getPrototypeOf(getTracer()), 'getActiveScopeSpan', () => ({
    after: active => active ?? (hasProvider() ? active : span),
  }))
}
