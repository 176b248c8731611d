import { readdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { rollup } from 'rollup'

/** What `sinfonietta/profile` loads: Node takes half a millisecond for each module. */
const start = 'bin/profiling/profile.js'

/**
 * The bundles, and which modules are in them. Of `lib`, an application has these, too: they call
 * no function of an application, and what they throw is caught there, so that no stack of an error
 * names them. Production may load libraries, and nothing of the profiler.
 */
const bundles = [
  ['lib/bundled.js', /^lib\/(?:redact\/(?!redactor)|sql|stack|text\/(?!conversion)|errors\/flat-error)/],
  ['bundles/libraries/bundled.js', /^bundles\/libraries\//],
  ['bundles/profiler/bundled.js', /^bundles\/profiler\//],
]

/**
 * Of the bundles, what stays alone with what it imports: modules that an application needs, and
 * the code of a sampler, which leaves its own folder out of CPU profiles.
 */
const alone = ['bin/exports/sinfonietta.js', 'bundles/profiler/subjects/cpu/record.js']

/** A module in a bundle that is also imported by its URL. */
const byUrl = 'bundles/libraries/declarations.js'

/**
 * Puts modules of `dist/` into bundles, in place. Each module stays one: all others import it from its bundle.
 *
 * @param {string} dist
 * @param {(file: string) => readonly string[]} importsOf the modules that a module imports when it is loaded
 * @param {(file: string, text: string) => void} write
 */
export async function bundleModules(dist, importsOf, write) {
  const kept = closeOver(alone, importsOf)
  const bundleOf = file =>
    file.startsWith('bundles/') && kept.has(file) ? undefined : bundles.find(([, pattern]) => pattern.test(file))?.[0]
  const bundled = [...closeOver([start], importsOf)].filter(bundleOf)
  const left = bundled.filter(file => file !== byUrl)
  const toName = file => path.relative(dist, file).split(path.sep).join('/')
  const modules = ['bin', 'bundles', 'kernel', 'lib']
    .flatMap(layer =>
      readdirSync(path.join(dist, layer), { recursive: true }).map(file => path.join(dist, layer, file)),
    )
    .map(toName)
    .filter(file => file.endsWith('.js') && !isClient(file) && !left.includes(file))
  const bundle = await rollup({
    input: Object.fromEntries(modules.map(file => [file, path.join(dist, file)])),
    external: id => !/^(?:\.|[/\\]|\w:)/.test(id) || isClient(id),
    treeshake: false,
    preserveEntrySignatures: 'strict',
    plugins: [
      {
        name: 'places',
        resolveImportMeta: (property, { chunkId, moduleId }) => moved(property, chunkId, toName(moduleId)),
      },
    ],
    onwarn: ({ code, message }) => {
      // The compiler has written it.
      if (code !== 'THIS_IS_UNDEFINED') throw new Error(message)
    },
  })
  const { output } = await bundle.generate({
    entryFileNames: '[name]',
    chunkFileNames: '[name]',
    hoistTransitiveImports: false,
    manualChunks: id => (bundled.includes(toName(id)) ? bundleOf(toName(id)) : undefined),
    minifyInternalExports: false,
    onlyExplicitManualChunks: true,
  })
  for (const { code, fileName } of output) write(fileName, code)
  for (const file of left) rmSync(path.join(dist, file))
}

/** Modules for browsers are files of their own. */
function isClient(file) {
  return /[/\\]client[/\\]/.test(file)
}

/** Some modules, and those that are loaded with them. */
function closeOver(starts, importsOf) {
  const found = new Set(starts)
  for (const file of found) for (const imported of importsOf(file)) found.add(imported)
  return found
}

/** A module in a bundle has the place that it had before. */
function moved(property, place, file) {
  if (place === file) return null
  const folder = path.posix.dirname(place)
  if (property === 'url') return `new URL('${path.posix.relative(folder, file)}', import.meta.url).href`
  return `(import.meta.${property} + '/${path.posix.relative(folder, path.posix.dirname(file))}')`
}
