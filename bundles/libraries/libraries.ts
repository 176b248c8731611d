import path from 'node:path'
import type { Foundation } from '../../kernel/bundle.ts'
import type { FrameworkRoute } from '../../kernel/contracts/functions.ts'
import type { Queries } from '../../kernel/contracts/queries.ts'
import type { ServerObserver } from '../../kernel/contracts/servers.ts'
import { noteUnseen } from '../../kernel/contracts/unseen-libraries.ts'
import { createPackageFinder, findLoaded, findProject, readManifest } from '../../lib/find-package.ts'
import { isAtLeast } from '../../lib/optional-packages.ts'
import { endAll, findFirst, share } from '../../lib/share.ts'
import { Callers } from '../../lib/stack/callers.ts'
import { asyncFunctions } from './async-calls.ts'
import { nodeConsole } from './console.ts'
import { openRunner, takeDeclarations } from './declarations.ts'
import { express } from './express.ts'
import { fastify } from './fastify.ts'
import { nodeFetch } from './fetch.ts'
import { graphql } from './graphql.ts'
import { grpc } from './grpc.ts'
import { watchHttpServers } from './http-servers.ts'
import { ioredis } from './ioredis.ts'
import { createLateQueries } from './late-queries.ts'
import { changeFiles, changeLoaded, type Library, missingWorkOf } from './library.ts'
import { memjs } from './memjs.ts'
import { mongodb } from './mongodb.ts'
import { mysql2 } from './mysql2.ts'
import { next } from './next.ts'
import { nodeHttp } from './node-http.ts'
import { nodeHttp2 } from './node-http2.ts'
import { nodeRedis } from './node-redis.ts'
import { nodemailer } from './nodemailer.ts'
import { pg } from './pg.ts'
import { postgres } from './postgres.ts'
import { watchRefusedConnections } from './refused-connections.ts'
import { watchSpans } from './spans.ts'
import { betterSqlite3, nodeSqlite } from './sqlite.ts'
import { sqlite3 } from './sqlite3.ts'
import { syncFunctions } from './sync-calls.ts'
import { undici } from './undici.ts'

/** A library that only changes its own package. It is loaded where this is found. */
interface LibraryOnDemand {
  readonly name: string
  readonly load: () => Promise<Library>
}

/** All libraries and frameworks that are seen without a change of the application, in the order of the documents. */
const rows: readonly (Library | LibraryOnDemand)[] = [
  ...[pg, postgres, mysql2, betterSqlite3, nodeSqlite, sqlite3, mongodb, ioredis, nodeRedis, memjs],
  ...[nodeFetch, undici, nodeHttp, nodeHttp2, grpc, nodeConsole, syncFunctions, asyncFunctions],
  ...[express, fastify],
  { name: 'koa', load: async () => (await import('./koa.ts')).koa },
  { name: 'egg', load: async () => (await import('./koa.ts')).egg },
  { name: 'hono', load: async () => (await import('./hono.ts')).hono },
  { name: '@nestjs/core', load: async () => (await import('./nest.ts')).nest },
  ...[next, graphql],
  { name: '@hapi/hapi', load: async () => (await import('./hapi.ts')).hapi },
  { name: 'restify', load: async () => (await import('./restify.ts')).restify },
  { name: 'polka', load: async () => (await import('./polka.ts')).polka },
  { name: '@tinyhttp/app', load: async () => (await import('./tinyhttp.ts')).tinyhttp },
  { name: 'h3', load: async () => (await import('./h3.ts')).h3 },
  { name: '@adonisjs/http-server', load: async () => (await import('./adonis.ts')).adonis },
  { name: '@loopback/rest', load: async () => (await import('./loopback.ts')).loopback },
  { name: '@trpc/server', load: async () => (await import('./trpc.ts')).trpc },
  { name: '@orpc/server', load: async () => (await import('./orpc.ts')).orpc },
  { name: 'connect', load: async () => (await import('./connect.ts')).connect },
  { name: 'restana', load: async () => (await import('./restana.ts')).restana },
  { name: 'micro', load: async () => (await import('./micro.ts')).micro },
  { name: 'moleculer-web', load: async () => (await import('./moleculer-web.ts')).moleculerWeb },
  { name: 'nitropack', load: async () => (await import('./h3.ts')).nitro },
  { name: 'nuxt', load: async () => (await import('./nuxt.ts')).nuxt },
  { name: '@sveltejs/kit', load: async () => (await import('./svelte-kit.ts')).svelteKit },
  { name: 'astro', load: async () => (await import('./astro.ts')).astro },
  { name: 'react-router', load: async () => (await import('./react-router.ts')).reactRouter },
  { name: 'bullmq', load: async () => (await import('./bullmq.ts')).bullmq },
  { name: 'pg-boss', load: async () => (await import('./pg-boss.ts')).pgBoss },
  { name: 'graphile-worker', load: async () => (await import('./graphile-worker.ts')).graphileWorker },
  { name: 'node-cron', load: async () => (await import('./node-cron.ts')).nodeCron },
  { name: 'croner', load: async () => (await import('./croner.ts')).croner },
  { name: 'ws', load: async () => (await import('./ws.ts')).ws },
  { name: 'socket.io', load: async () => (await import('./socket-io.ts')).socketIo },
  { name: 'amqplib', load: async () => (await import('./amqplib.ts')).amqplib },
  { name: 'kafkajs', load: async () => (await import('./kafkajs.ts')).kafkajs },
  { name: 'mqtt', load: async () => (await import('./mqtt.ts')).mqtt },
  { name: 'bcrypt', load: async () => (await import('./bcrypt.ts')).bcrypt },
  nodemailer,
  { name: 'pino', load: async () => (await import('./pino.ts')).pino },
  { name: 'winston', load: async () => (await import('./winston.ts')).winston },
  { name: '@nestjs/common', load: async () => (await import('./nest.ts')).nestLogger },
  { name: 'consola', load: async () => (await import('./consola.ts')).consola },
]

/** Those that are loaded at the start. */
export const libraries: readonly Library[] = rows.flatMap(row => ('load' in row ? [] : row))

/** Loads all libraries, for documents and tests. */
export async function listLibraries(): Promise<readonly Library[]> {
  return findLibraries(() => true)
}

/** Those of the start, and those whose packages are found. */
async function findLibraries(isFound: (name: string) => boolean): Promise<readonly Library[]> {
  const found = rows.filter(row => !('load' in row) || isFound(row.name))
  return Promise.all(found.map(row => ('load' in row ? row.load() : row)))
}

/** Whether one of the folders has a package. */
function isFoundBy(finders: readonly PackageFinder[]): (name: string) => boolean {
  return name => finders.some(find => find(name) !== undefined)
}

type PackageFinder = ReturnType<typeof createPackageFinder>

/** The folders of changed packages, and the names of those whose files are changed wherever they are. */
const opened = new Set<string>()

/** The libraries that the application has loaded before they could be changed. */
export const lateLibraries: string[] = []

/** Changes the files of a library, wherever they are loaded from, now or later. */
function openFiles({ changes, name }: Library): void {
  if (changes === undefined || opened.has(name)) return
  opened.add(name)
  if (changeLoaded(changes).some(file => file.includes(`${path.sep}${path.normalize(name)}${path.sep}`)))
    lateLibraries.push(name)
  changeFiles(changes)
}

/**
 * Lets libraries report their queries, jobs and mails, which they do not do by themselves, and mysql2
 * its pools: their classes are changed when they are loaded, or at once if they are. Their exports stay
 * the same objects. Nothing happens without the library in a folder `node_modules` of the directory or
 * above it, and for a library that is `excluded`, because something else reports its queries. ES
 * modules are imported if the application, or what it depends on, has them as a dependency.
 */
export async function openLibraries(
  directory: string,
  isExcluded: (library: string) => boolean = () => false,
): Promise<void> {
  const find = createPackageFinder(directory)
  const isFound = isFoundBy(findersOf(directory))
  const found = await findLibraries(isFound)
  const chosen = found.filter(library => !isFramework(library) && !isExcluded(library.name))
  for (const library of chosen) {
    for (const [name, open] of Object.entries(library.opens ?? {}))
      if (name.startsWith('node:')) await openOnce(name, open)
    if (isFound(library.name)) openFiles(library)
    findUnseen(find, library)
  }
  await openDependencies([directory], chosen, true)
}

/** The names of the libraries whose declarations are taken. */
const taken = new Set<string>()

async function openDeclarations({ beside, declares, name }: Library, finders: readonly PackageFinder[]): Promise<void> {
  if (declares === undefined || taken.has(name)) return
  taken.add(name)
  takeDeclarations(declares, beside)
  for (const find of finders) await openOnce(find('vite'), openRunner)
}

/** Whether it is changed only where the application depends on it. */
function isFramework({ reports }: Library): boolean {
  return reports === 'functions' || reports === 'fields'
}

async function openOnce(folder: string | undefined, open: (folder: string) => Promise<void> | void): Promise<void> {
  if (folder === undefined || opened.has(folder)) return
  opened.add(folder)
  await open(folder)
}

/**
 * Lets frameworks report what they publish nowhere. CommonJS packages are changed when they are
 * loaded. The others are changed if they are a dependency of one of the directories, at any depth,
 * such as that of Feathers: then the application imports them anyway. It must be called before that.
 */
export async function openFrameworks(directories: readonly string[]): Promise<void> {
  const folders = [...new Set(directories.map(each => findProject(each)))]
  const everywhere = folders.flatMap(findersOf)
  const isFound = isFoundBy(everywhere)
  const frameworks = (await findLibraries(isFound)).filter(isFramework)
  for (const framework of frameworks) {
    if (!isFound(framework.name)) continue
    openFiles(framework)
    for (const find of everywhere) findUnseen(find, framework)
    await openDeclarations(framework, everywhere)
  }
  listenToFrameworks()
  await openDependencies(folders, frameworks, false)
}

/** pnpm has the packages of packages in a folder of its own. */
function findersOf(folder: string): readonly PackageFinder[] {
  return [folder, path.join(folder, 'node_modules/.pnpm')].map(createPackageFinder)
}

/**
 * Opens the ES modules of libraries that are a dependency of the project of one of the folders, at
 * any depth: any other import could have effects that the application does not expect. `hasTools`
 * is whether the development dependencies of the projects count, too: scripts use them.
 */
async function openDependencies(
  folders: readonly string[],
  chosen: readonly Library[],
  hasTools: boolean,
): Promise<void> {
  const openers = chosen.flatMap(({ opens = {} }) => Object.entries(opens))
  for (const folder of folders) {
    const finders = findersOf(folder)
    const isFound = isFoundBy(finders)
    const wanted = openers.filter(([name]) => isFound(name))
    const left = new Set(wanted.map(([name]) => name))
    let owners = [folder]
    const known = new Set(owners)
    // Packages behind direct dependencies are only read for a framework that is not found yet.
    for (let depth = 0; owners.length > 0 && (depth < 2 ? wanted.length : left.size) > 0; depth++) {
      const next = new Set<string>()
      for (const owner of owners) {
        const names = readNames(depth === 0 ? findProject(owner) : owner, hasTools && depth === 0)
        const find = createPackageFinder(owner)
        for (const [name, open] of wanted) {
          if (!names.has(name)) continue
          left.delete(name)
          await openOnce(find(name), open)
        }
        for (const name of names) next.add(find(name) ?? owner)
      }
      owners = [...next].filter(each => !known.has(each))
      for (const each of owners) known.add(each)
    }
  }
}

function readNames(folder: string, hasTools: boolean): ReadonlySet<string> {
  const { dependencies, devDependencies } = readManifest(folder)
  return new Set(Object.keys({ ...Object(dependencies), ...(hasTools && Object(devDependencies)) }))
}

/** Listens to the channels of frameworks. An application of Fastify is seen if it is created later. */
export function listenToFrameworks(): void {
  for (const { listen } of libraries) listen?.()
}

/** The systems of the packages that open connections. */
const systems = new Map(libraries.flatMap(({ connects }) => (connects === undefined ? [] : [connects])))

/** The route that a framework keeps on a message of Node, also where none of its functions was seen. */
export function readRoute(message: object): FrameworkRoute | undefined {
  return findFirst(libraries, ({ readRoute }) => readRoute?.(message))
}

/**
 * Passes the requests of all servers of the process, except for those of kernels, to an observer,
 * until the returned function is called.
 */
export function watchServers(observer: ServerObserver): () => void {
  return watchHttpServers(observer)
}

/** A kernel has one watch of its libraries, also if several bundles ask for it. */
const watches = new WeakMap<Queries, () => () => void>()

/** Reports the queries of libraries to a kernel, until each returned function was called. */
export function watchLibraries(app: Pick<Foundation, 'context' | 'directory' | 'queries'>): () => void {
  const watch = watches.get(app.queries) ?? share(() => watchAll(app))
  watches.set(app.queries, watch)
  return watch()
}

function watchAll(app: Parameters<typeof watchLibraries>[0]): () => void {
  // The callers of a library mostly have the same depth, so each has its own search.
  const stops = libraries.flatMap(({ watch }) => watch?.({ ...app, callers: new Callers(app.directory) }) ?? [])
  return endAll([...stops, watchRefusedConnections(app, systems)])
}

/**
 * Lets libraries report what they do by functions of the process, such as `fetch`, until the
 * returned function is called.
 */
export function patchProcess(): () => void {
  return endAll(libraries.flatMap(({ patch }) => patch?.() ?? []))
}

/** Notes versions that are too old to be seen, when the application loads one of the packages of a library. */
function findUnseen(find: PackageFinder, library: Library): void {
  const { files = {}, from = '' } = library
  for (const [name, file] of Object.entries(files)) {
    const end = `node_modules/${name}/${file}`
    if (opened.has(end) || find(name) === undefined) continue
    opened.add(end)
    changeFiles({
      [end]: (_, loaded) => {
        const version = readVersion(loaded.slice(0, -file.length))
        if (!isAtLeast(version, from)) noteUnseen({ name, version, first: from, work: missingWorkOf(library) })
      },
    })
  }
}

function readVersion(folder: string): string {
  return String(readManifest(folder).version)
}

/** Beginnings of the paths of files and probes that belong to a framework itself. */
export const frameworkPaths: readonly string[] = libraries.flatMap(({ ownPaths = [] }) => ownPaths)

/** Reports the spans of libraries to the requests of other servers, until the returned function is called. */
export function watchLibrarySpans({
  context,
  directory,
  queries,
}: Pick<Foundation, 'context' | 'directory' | 'queries'>): () => void {
  const readers = libraries.flatMap(({ spans }) => spans ?? [])
  const reported = [...rows.map(instrumentationOf), 'instrumentation-http', 'instrumentation-undici']
  return watchSpans({
    readers,
    beginQuery: createLateQueries({ context, queries, callers: new Callers(directory) }),
    isReported: tracer => reported.some(name => tracer.endsWith(`/${name}`)),
  })
}

/**
 * Whether the library of an instrumentation of OpenTelemetry also reports its queries by a
 * diagnostics channel, in its loaded version.
 */
export function hasOwnChannel(instrumentation: string): boolean {
  const { files = {}, from = '', seenBy } = libraryOf(instrumentation) ?? {}
  if (seenBy !== 'channel') return false
  return Object.keys(files).some(name => {
    const folder = findLoaded(name)
    return folder !== undefined && isAtLeast(readVersion(folder), from)
  })
}

/** Lets an instrumentation of OpenTelemetry report what it leaves to its configuration, such as rows. */
export function configureInstrumentation(instrumentation: Configured): void {
  const { configure } = libraryOf(instrumentation.instrumentationName) ?? {}
  if (configure !== undefined) instrumentation.setConfig(configure(instrumentation.getConfig()))
}

/** The part of an instrumentation that is used. */
interface Configured {
  readonly instrumentationName: string
  getConfig(): object
  setConfig(config: object): void
}

function libraryOf(instrumentation: string): Library | undefined {
  return libraries.find(library => instrumentation.endsWith(`/${instrumentationOf(library)}`))
}

function instrumentationOf({ instrumentation, name }: Pick<Library, 'instrumentation' | 'name'>): string {
  return `instrumentation-${instrumentation ?? name.replace(/^@(\w+)\//, '$1-')}`
}

/** The last part of the name of the instrumentation of a library. */
export function findInstrumentation(name: string): string {
  return libraries.find(each => each.name === name)?.instrumentation ?? name
}
