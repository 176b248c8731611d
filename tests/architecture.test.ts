import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { t } from 'tap'

const layers = ['lib', 'kernel', 'bundles', 'bin']

/** Where a package may be imported: a file, or a folder. */
const places: Readonly<Record<string, string>> = {
  'path-to-regexp': 'lib/routing/',
  mitt: 'lib/signals.ts',
  handlebars: 'lib/view/handlebars.ts',
  cookie: 'lib/http/',
  mime: 'lib/http/file-response.ts',
  'tough-cookie': 'kernel/testing/',
  valibot: 'bundles/profiler/profile/ bundles/profiler/subjects/',
  commander: 'bin/commands/',
  'highlight.js': 'lib/stack/highlight.ts',
  '@modelcontextprotocol/sdk': 'bundles/profiler/cli/mcp/',
  zod: 'bundles/profiler/cli/mcp/',
  ioredis: 'lib/redis/redis-connection.ts',
  '@opentelemetry/api': 'bundles/opentelemetry/',
  '@opentelemetry/context-async-hooks': 'bundles/opentelemetry/load-packages.ts',
  '@opentelemetry/core': 'bundles/opentelemetry/load-packages.ts',
  '@opentelemetry/exporter-trace-otlp-http': 'bundles/opentelemetry/load-packages.ts',
  '@opentelemetry/exporter-trace-otlp-proto': 'bundles/opentelemetry/load-packages.ts',
  '@opentelemetry/resources': 'bundles/opentelemetry/load-packages.ts',
  '@opentelemetry/sdk-trace-base': 'bundles/opentelemetry/',
}

/** Whether a package may be imported in a file: its places are separated by spaces. */
function isPlaceOf(name: string, file: string): boolean {
  return places[packageOf(name)]?.split(' ').some(place => file.startsWith(place)) ?? false
}

/** The bundles of this project. Bundles of an application follow its own rules. */
const ownBundles = ['framework', 'libraries', 'maker', 'opentelemetry', 'page-cache', 'profiler', 'site']

const sources = layers.flatMap(layer =>
  readdirSync(layer, { recursive: true, encoding: 'utf8' })
    .filter(file => file.endsWith('.ts'))
    .map(file => path.join(layer, file))
    .filter(file => !/^bundles\/.+\//.test(file) || ownBundles.includes(bundleOf(file))),
)

/** Whether a file is one of an application, such as the site: it imports the package by name. */
const isApplication = (file: string) =>
  /^bundles\/(?!framework\/|libraries\/|maker\/|opentelemetry\/|page-cache\/|profiler\/)/.test(file)

/** The imports of a file: paths from the root for files of the project, names for packages and node. */
function importsOf(file: string): string[] {
  const text = readFileSync(file, 'utf8')
  const specifiers = [...text.matchAll(/(?:from|import|import\(|require\() ?'([^'\s]+)'/g)].map(([, specifier]) =>
    String(specifier),
  )
  return specifiers.map(name => (name.startsWith('.') ? path.join(path.dirname(file), name) : name))
}

function bundleOf(file: string): string {
  return String(file.split('/')[1])
}

const imports = new Map(sources.map(file => [file, importsOf(file)]))
const layerOf = (file: string) => layers.indexOf(String(file.split('/')[0]))
/** The package that a part of it is imported from: `@scope/name`, `highlight.js` for `highlight.js/lib/core`. */
const packageOf = (name: string) => name.split('/', name.startsWith('@') ? 2 : 1).join('/')
const isOwn = (name: string) => layers.some(layer => name.startsWith(`${layer}/`))
/** An entry point of this package, which is imported by name. */
const isEntry = (name: string) => packageOf(name) === 'sinfonietta'

/** The imports that break a rule, as `file imports name`. */
function importsThat(isOffence: (file: string, name: string) => boolean): string[] {
  return [...imports].flatMap(([file, names]) =>
    names.filter(name => isOffence(file, name)).map(name => `${file} imports ${name}`),
  )
}

t.test('the top level has these folders only, beside those that git ignores', async t => {
  const ignored = ['node_modules', 'dist', 'var', 'coverage']
  const folders = readdirSync('.', { withFileTypes: true }).filter(
    each => each.isDirectory() && !each.name.startsWith('.'),
  )
  const names = folders.map(({ name }) => name).filter(name => !ignored.includes(name))
  t.strictSame(names.toSorted(), [...layers, 'bench', 'docs', 'templates', 'tests'].toSorted())
})

t.test('a file imports from its own layer or from a layer to its left', async t => {
  t.ok(sources.length > 100, 'sources are found')
  t.strictSame(
    importsThat((file, name) => isOwn(name) && layerOf(name) > layerOf(file)),
    [],
  )
})

t.test('bundles import no other bundle but that of libraries, by its door', async t => {
  const isIn = (file: string) => /^bundles\/.+\//.test(file)
  const isDoor = (name: string) => name === 'bundles/libraries/libraries.ts'
  t.strictSame(
    importsThat((file, name) => isIn(file) && isIn(name) && bundleOf(name) !== bundleOf(file) && !isDoor(name)),
    [],
  )
})

t.test('the kernel knows no library', async t => {
  const { listLibraries } = await import('#bundles/libraries/libraries.ts')
  const libraries = await listLibraries()
  // Node has these, and an event `connect`; the server uses the modules.
  const known = libraries
    .map(({ name }) => name)
    .filter(name => !/^(?:fetch|console|connect|node:(?:http2?|fs, .+))$/.test(name))
  const names = new RegExp(`'(?:${known.join('|')})'`)
  t.strictSame(
    sources.filter(file => file.startsWith('kernel/') && names.test(readFileSync(file, 'utf8'))),
    [],
  )
})

/**
 * The rooms of the profiler, which are folders of it: each imports only from itself and from those
 * before it. The code of browsers is the first, because it cannot import code of the server.
 */
const rooms = [
  ...['client', 'profile', 'store', 'settings.ts', 'record', 'any-server'],
  ...['insight', 'export', 'panels', 'web', 'cli'],
]

/** The subjects have a record below and a panel above the other rooms: they import what is left of the pages. */
const aboveSubjects = ['web', 'cli', 'testing', '']

/** Beside the rooms: the testing kit imports all that has no screens. */
const besides: Readonly<Record<string, readonly string[]>> = {
  testing: ['testing', 'profile', 'store', 'record', 'insight', 'export', 'subjects', ''],
}

/** The room of a file of the profiler; empty for the files that connect the rooms. */
function roomOf(file: string): string {
  const [, , room = '', ...rest] = file.split('/')
  return rest.length > 0 || rooms.includes(room) ? room : ''
}

function isAllowedRoom(from: string, to: string): boolean {
  if (from === '' || to === 'subjects') return true
  if (from === 'subjects') return !aboveSubjects.includes(to)
  return (besides[from] ?? rooms.slice(0, rooms.indexOf(from) + 1)).includes(to)
}

t.test('the rooms of the profiler import in their order', async t => {
  const isIn = (file: string) => file.startsWith('bundles/profiler/')
  const known = [...rooms, ...Object.keys(besides), 'subjects', '']
  t.strictSame(
    sources.filter(file => isIn(file) && !known.includes(roomOf(file))),
    [],
    'each file is in a room',
  )
  t.strictSame(
    importsThat((file, name) => isIn(file) && isIn(name) && !isAllowedRoom(roomOf(file), roomOf(name))),
    [],
  )
})

/** The rooms of the kernel and of the programs: a file imports from its own room, and from those that are named. */
const doors: Readonly<Record<string, string>> = {
  kernel: 'contracts debug mistakes',
  'kernel/contracts': 'kernel',
  'kernel/debug': 'kernel',
  'kernel/mistakes': 'kernel',
  'kernel/server': 'kernel debug',
  'kernel/interop': 'kernel server',
  'kernel/testing': 'kernel mistakes',
  bin: 'application serving testing commands',
  'bin/exports': 'bin serving profiling commands',
  'bin/application': '',
  // The next process loads the entry points while it waits.
  'bin/serving': 'application exports',
  'bin/profiling': 'application commands',
  'bin/testing': 'application',
  'bin/commands': 'application',
  'bin/package': '',
}

t.test('the rooms of the kernel and of the programs import from those that are named', async t => {
  const isIn = (file: string) => /^(?:kernel|bin)\//.test(file)
  const isAllowed = (from: string, to: string) =>
    from === to || !isIn(to) || doors[from]?.split(' ').includes(path.basename(to)) === true
  const offences = importsThat(
    (file, name) => isIn(file) && layerOf(file) === layerOf(name) && !isAllowed(path.dirname(file), path.dirname(name)),
  )
  t.strictSame(offences, [])
  const rooms = new Set(sources.filter(isIn).map(file => path.dirname(file)))
  t.strictSame([...rooms].toSorted(), Object.keys(doors).toSorted(), 'each room is named')
})

/** The folder of a subject of the profiler, such as `bundles/profiler/subjects/logs/`; empty for other files. */
const subjectOf = (file: string) => /^bundles\/profiler\/subjects\/[^/]+\//.exec(file)?.[0] ?? ''

/** The files that list the subjects: one list for each part of a subject. */
const subjectLists = [
  'bundles/profiler/subjects/schemas.ts',
  'bundles/profiler/subjects/recorded.ts',
  'bundles/profiler/subjects/recorded-by-kernels.ts',
  'bundles/profiler/subjects/rules.ts',
  'bundles/profiler/subjects/views.ts',
]

/** A rule about queries within templates. */
const subjectExceptions = [
  'bundles/profiler/insight/findings/work-rules.ts imports bundles/profiler/subjects/queries/rules.ts',
]

/**
 * Fields that are used outside of their subjects: by a rule about failed work, by replays, and by
 * OTLP, which has the same name.
 */
const sharedFields = ['isAborted', 'isDebugAllowed', 'parentSpanId']

t.test('no subject imports another one; what has no screens imports only what subjects have stored', async t => {
  const isStored = (file: string) => /\/(?:data|pack|read)\.ts$/.test(file)
  const hasScreens = (file: string) => ['web', 'cli', ''].includes(roomOf(file))
  const isOffence = (file: string, name: string) =>
    subjectOf(name) !== '' &&
    subjectOf(name) !== subjectOf(file) &&
    (subjectOf(file) !== '' || !(isStored(name) || hasScreens(file) || subjectLists.includes(file)))
  t.strictSame(importsThat(isOffence), subjectExceptions)
})

/** The text of a file without comments and texts in quotes. */
function codeOf(file: string): string {
  return readFileSync(file, 'utf8').replaceAll(/\/\/.*|\/\*[\s\S]*?\*\/|'[^'\n]*'/g, '')
}

t.test('a field that only one subject stores stands in its folder', async t => {
  const words = new Map(sources.map(file => [file, new Set(codeOf(file).match(/\w+/g))]))
  const filesWith = (word: string) => sources.filter(file => words.get(file)?.has(word))
  const fields = sources
    .filter(file => subjectOf(file) !== '' && file.endsWith('/data.ts'))
    .flatMap(file => [...codeOf(file).matchAll(/^ +([a-z]\w+): /gm)].map(([, name]) => ({ file, name: String(name) })))
    // A short or usual word may mean anything elsewhere.
    .filter(({ name }) => /[A-Z]|.{8}/.test(name) && !sharedFields.includes(name))
    .filter(({ file, name }) => filesWith(name).every(other => isOfSubject(other, file)))
  const offences = fields.flatMap(({ file, name }) =>
    filesWith(name)
      .filter(other => subjectOf(other) !== subjectOf(file))
      .map(other => `${other} has ${name}`),
  )
  t.strictSame(offences, [])
  t.ok(new Set(fields.map(({ name }) => name)).size >= 7, 'fields are found')
  const rooms = filesWith('cacheCalls').map(file => subjectOf(file) || file)
  t.strictSame(
    [...new Set(rooms)],
    ['bundles/profiler/profile/document-schema.ts', 'bundles/profiler/subjects/queries/'],
    'a count',
  )
})

/** The files that write a request as it was: an HTTP archive, and commands that send it again. */
const storedReaders = ['bundles/profiler/export/har.ts', 'bundles/profiler/export/snippets.ts']

t.test('pages and exports show what subjects prepare, and read no stored data themselves', async t => {
  const readers = sources.filter(
    file => ['web', 'export'].includes(roomOf(file)) && /\bcollectors\b/.test(codeOf(file)),
  )
  t.strictSame(
    readers.filter(file => file.startsWith('bundles/profiler/')),
    storedReaders,
  )
})

/** Whether a file of the profiler has the subject of another file, or no subject. */
function isOfSubject(file: string, other: string): boolean {
  return file.startsWith('bundles/profiler/') && ['', subjectOf(other)].includes(subjectOf(file))
}

/** All files that are loaded with a file. */
function loadedWith(file: string, loaded = new Set<string>()): ReadonlySet<string> {
  loaded.add(file)
  const text = readFileSync(file, 'utf8')
  // An import of types is none when the program runs.
  const specifiers = [...text.matchAll(/^(?:import|export|\}) (?!type\b).*?from '(\.[^']+)'/gm)].map(([, name]) =>
    String(name),
  )
  const next = specifiers.map(name => path.join(path.dirname(file), name)).filter(name => !loaded.has(name))
  for (const name of next) if (!loaded.has(name)) loadedWith(name, loaded)
  return loaded
}

t.test('recording loads no findings and no screens; findings load no screens', async t => {
  const matching = (file: string, pattern: RegExp) => [...loadedWith(file)].filter(name => pattern.test(name))
  const screens = /^bundles\/profiler\/(?:export|web|subjects\/views|subjects\/\w+\/show)/
  const findings = /^bundles\/profiler\/(?:insight|subjects\/rules|subjects\/\w+\/rules)/
  t.strictSame(matching('bundles/profiler/record/recording.ts', screens), [])
  t.strictSame(matching('bundles/profiler/record/recording.ts', findings), [])
  t.strictSame(matching('bundles/profiler/insight/findings/inspector.ts', screens), [])
  t.ok(matching('bundles/profiler/subjects/rules.ts', findings).length > 10, 'rules are found')
})

t.test('each package is imported in its place only, and is declared', async t => {
  const { dependencies, peerDependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
  const declared = Object.keys({ ...dependencies, ...peerDependencies })
  const isPackage = (name: string) => !isOwn(name) && !isEntry(name) && !name.startsWith('node:')
  t.strictSame(
    importsThat((file, name) => isPackage(name) && !isPlaceOf(name, file)),
    [],
  )
  const used = new Set([...imports.values()].flat().filter(isPackage).map(packageOf))
  t.strictSame([...used].sort(), Object.keys(places).sort(), 'each place is used')
  t.strictSame(
    [...used].filter(name => !declared.includes(name)),
    [],
    'each package is in package.json',
  )
})

t.test('only the application imports the package by name, and nothing else of it', async t => {
  const application = [...imports].filter(([file]) => isApplication(file))
  t.ok(application.length > 1, 'files of the application are found')
  t.strictSame(
    importsThat((file, name) => isEntry(name) && !isApplication(file)),
    [],
  )
  t.strictSame(
    importsThat((file, name) => isApplication(file) && isOwn(name) && !isApplication(name)),
    [],
  )
})

t.test('the files that a README of a folder names exist', async t => {
  const files = [...layers, 'docs', 'tests'].flatMap(folder =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' }).map(file => path.join('/', folder, file)),
  )
  const readmes = files.filter(file => path.basename(file) === 'README.md' && !/^.(?:docs|.*node_modules)\//.test(file))
  files.push(...readdirSync('.').map(file => `/${file}`))
  const missing = readmes.flatMap(readme =>
    [...readFileSync(`.${readme}`, 'utf8').matchAll(/`([\w./-]+\.(?:ts|md))`/g)]
      .filter(([, name]) => !files.some(file => file.endsWith(`/${name}`)))
      .map(([, name]) => `${readme} names ${name}`),
  )
  t.strictSame(missing, [])
  t.ok(readmes.length > 10, 'they are found')
})

t.test('the entry points are the files of bin/exports, which contain exports only', async t => {
  const { exports } = JSON.parse(readFileSync('package.json', 'utf8'))
  const files = Object.values<Record<string, string>>(exports).map(({ default: file = '', types }) => {
    t.equal(types, file.replace(/js$/, 'd.ts'))
    return file.replace(/^\.\/dist\/(.+)\.js$/, '$1.ts')
  })
  t.strictSame(files.toSorted(), sources.filter(file => file.startsWith('bin/exports/')).toSorted())
  for (const file of files) {
    const rest = readFileSync(file, 'utf8')
      .replace(/^\/{2,3} .*$/gm, '')
      // A preload is imported for its effect.
      .replace(/^import '..\/profiling\/(?:profile-process|preloaded).ts'$/m, '')
      .replace(/^export (?:type )?(?:\*|\{[^}]*\}) from '[^']+'$/gm, '')
    t.equal(rest.trim(), '', file)
  }
})

t.test('only servers, handlers of node, the list of statuses and the watches import node:http', async t => {
  t.strictSame(
    importsThat(
      (file, name) =>
        name === 'node:http' &&
        !/^kernel\/server\/|^kernel\/contracts\/servers\.ts$|^kernel\/interop\/node-handlers\.ts$|^lib\/http\/response\.ts$|^bundles\/(?:libraries|profiler\/(?:any-server|subjects\/http))\//.test(
          file,
        ),
    ),
    [],
  )
})

t.test('there are no import cycles, not even of types', async t => {
  const cycles: string[] = []
  const done = new Set<string>()
  const visit = (file: string, way: readonly string[]) => {
    if (way.includes(file)) cycles.push([...way.slice(way.indexOf(file)), file].join(' → '))
    if (way.includes(file) || done.has(file)) return
    for (const name of (imports.get(file) ?? []).filter(isOwn)) visit(name, [...way, file])
    done.add(file)
  }
  for (const file of sources) visit(file, [])
  t.strictSame(cycles, [])
})

/** What an import of a test means: a path from the root, a package, or node's own. */
const toRootPath = (name: string) => (name.startsWith('#') ? name.slice(1) : name)

t.test('tests of a layer import from it and those to its left, and from what supports tests', async t => {
  const files = readdirSync('tests', { recursive: true, encoding: 'utf8' }).filter(file => file.endsWith('.ts'))
  const offences = files.flatMap(file => {
    const layer = layerOf(file)
    if (layer === -1) return []
    return importsOf(path.join('tests', file))
      .map(toRootPath)
      .filter(name => isOwn(name) && layerOf(name) > layer)
      .map(name => `tests/${file} imports ${name}`)
  })
  t.strictSame(offences, [])
})

t.test('files of tests import one another by their paths from the root', async t => {
  const tests = readdirSync('tests', { recursive: true, encoding: 'utf8' }).filter(file => file.endsWith('.test.ts'))
  // Those of an application are written by generators, which know no such paths.
  const files = tests.filter(file => !isApplication(file))
  const climbing = files.filter(file =>
    /^(?:import|\}) .*from '\.\.\/\.\.\//m.test(readFileSync(`tests/${file}`, 'utf8')),
  )
  t.strictSame(climbing, [])
})

/** Names that are right in each of their files. */
const homonyms: Readonly<Record<string, string>> = { createCommands: 'each bundle has its commands' }

t.test('tests start their processes in one place', async t => {
  // A page that does what a finding reports, the test of the functions themselves, and programs without a test.
  const others = [
    'bundles/profiler/insight/findings/planted/work-pages.ts',
    'bundles/profiler/subjects/time/async-calls.test.ts',
    'mutants/mutants.ts',
    'soak/restarts.ts',
    'soak/soak.ts',
  ]
  const starting = readdirSync('tests', { recursive: true, encoding: 'utf8' }).filter(
    file =>
      file.endsWith('.ts') &&
      /^import .*\b(?:exec|execFile|fork|spawn)\b.* from 'node:child_process'/m.test(
        readFileSync(path.join('tests', file), 'utf8'),
      ),
  )
  t.strictSame(starting.toSorted(), [...others, 'support/start-process.ts'])
})

t.test(
  'a file of a running application is written by replaceFileNow, or is a new one: no link is followed',
  async t => {
    const writes =
      /(?<![\w.#])(?:writeFile(?:Sync)?|appendFile(?:Sync)?|createWriteStream)\((?![^)]*\b(?:flag: 'wx'|flag: creationFlags))/
    // Output of the compiler and of its plan, in dist/; the mark in a folder that a command has made for it.
    const others = ['bin/application/sources.ts', 'bin/profiling/profile-process.ts']
    const wrong = sources.filter(
      file =>
        !others.includes(file) &&
        !file.startsWith('bin/testing/') &&
        !file.startsWith('bundles/maker/') &&
        writes.test(readFileSync(file, 'utf8')),
    )
    t.strictSame(wrong, [])
  },
)

t.test('a name is exported by one file only, unless it is right in each', async t => {
  const files = new Map<string, string[]>()
  for (const file of sources.filter(file => !/\/client\/|^bin\//.test(file))) {
    const declarations = /^export (?:abstract |async )*(?:class|function|const|interface|type) (\w+)/gm
    const names = new Set(Array.from(readFileSync(file, 'utf8').matchAll(declarations), ([, name]) => String(name)))
    for (const name of names) files.set(name, [...(files.get(name) ?? []), file])
  }
  const doubles = [...files].filter(([name, places]) => places.length > 1 && !(name in homonyms))
  t.strictSame(
    doubles.map(([name, places]) => `${name}: ${places.join(', ')}`),
    [],
  )
})

t.test('code in a recorded application uses clocks and timers of lib/own-globals.ts, and guards its timers', t => {
  const recording = /^bundles\/(?:libraries|profiler\/(?:any-server|record|store|subjects|web))\//
  const found = sources
    .filter(file => recording.test(file))
    .flatMap(
      file =>
        codeOf(file)
          .match(foreign)
          ?.map(text => `${file} has ${text.trim()}`) ?? [],
    )
  t.strictSame(found, [])
  t.end()
})

/** The global clocks and timers, and tasks of timers without a guard. */
const foreign =
  /performance\.now\(|Date\.now\b|(?<![.\w])(?:set|clear)(?:Timeout|Interval|Immediate)\(|\b(?:startTimer|startInterval)\(\(/g

t.test('a file has at most 600 lines', async t => {
  const lengths = sources.map(file => [file, readFileSync(file, 'utf8').split('\n').length - 1] as const)
  t.strictSame(
    lengths.filter(([, length]) => length > 600).map(([file, length]) => `${file} has ${length}`),
    [],
  )
})

t.test('no template writes unescaped output, and SafeString stands in one file', async t => {
  const templates = readdirSync('templates', { recursive: true, encoding: 'utf8' }).filter(file =>
    file.endsWith('.hbs'),
  )
  t.ok(templates.length > 10, 'templates are found')
  t.strictSame(
    templates.filter(file => /\{\{\{|\{\{&/.test(readFileSync(path.join('templates', file), 'utf8'))),
    [],
  )
  const users = sources.filter(file => readFileSync(file, 'utf8').includes('new Handlebars.SafeString'))
  t.strictSame(users, ['lib/view/view.ts'])
})

t.test('every error code is the name of its constant', async t => {
  const codes = sources.flatMap(file => [
    ...readFileSync(file, 'utf8').matchAll(/export const ([A-Z\d_]+)[^=]*=\s*defineError\(\s*'([A-Z\d_]+)'/g),
  ])
  t.ok(codes.length > 40, 'codes are found')
  t.strictSame(
    codes.filter(([, name, code]) => name !== code).map(([, name, code]) => `${name} has the code ${code}`),
    [],
  )
})

t.test('no line is left out of coverage', async t => {
  const marked = sources.filter(file => /(?:c8|v8|istanbul) ignore/.test(readFileSync(file, 'utf8')))
  t.strictSame(marked, [])
})

t.test('no comment is wider than 120 columns', async t => {
  const files = [...layers, 'tests'].flatMap(folder =>
    readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter(file => file.endsWith('.ts'))
      .map(file => path.join(folder, file)),
  )
  const wide = files.flatMap(file =>
    readFileSync(file, 'utf8')
      .split('\n')
      .flatMap((line, index) =>
        line.length > 120 && /^\s*(?:\/\*\*|\*|\/\/)/.test(line) ? [`${file}:${index + 1}`] : [],
      ),
  )
  t.strictSame(wide, [])
})
