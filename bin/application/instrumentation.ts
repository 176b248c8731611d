import { existsSync } from 'node:fs'
import module, { createRequire } from 'node:module'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { instrumentations, type LibraryInstrumentation } from '../../bundles/opentelemetry/instrumentations.ts'
import { findLoaded } from '../../lib/find-package.ts'
import { APPLICATION_INSTRUMENTATION_INVALID, APPLICATION_INSTRUMENTATION_MISSING } from './errors.ts'
import { createSources } from './sources.ts'

/**
 * Registers the OpenTelemetry instrumentations that an application names in its file
 * `instrumentation.ts`, if it has one. It must be called before the bundles are imported: an
 * instrumentation changes a library while it is imported. Later calls change nothing.
 *
 * @throws APPLICATION_INSTRUMENTATION_INVALID APPLICATION_INSTRUMENTATION_MISSING and errors of the file
 */
export async function loadInstrumentations(directory: string, isDirect?: boolean): Promise<void> {
  const source = path.join(directory, 'instrumentation.ts')
  const program = createSources(directory, isDirect).toProgram(source)
  // An installed application may have compiled files only.
  if (!existsSync(program)) return
  const file = existsSync(source) ? source : program
  const { instrumentations: listed }: { instrumentations?: unknown } = await importFile(program, file)
  if (!Array.isArray(listed) || !listed.every(isInstrumentation)) throw new APPLICATION_INSTRUMENTATION_INVALID([file])
  const added = listed.filter(instrumentation => !instrumentations.includes(instrumentation))
  if (added.length === 0) return
  instrumentations.push(...added)
  const libraries = added.flatMap(added => added.getModuleDefinitions().map(({ name }) => name))
  warnOfLoaded(libraries)
  await registerHook(libraries, findPackage(directory, file))
}

function isInstrumentation(value: unknown): value is LibraryInstrumentation {
  const { getModuleDefinitions, setTracerProvider } = Object(value) as { readonly [name: string]: unknown }
  return typeof getModuleDefinitions === 'function' && typeof setTracerProvider === 'function'
}

/** Code of an ES module that was imported too early is not noticed: Node does not list such modules. */
function warnOfLoaded(libraries: readonly string[]): void {
  for (const name of libraries.filter(name => findLoaded(name) !== undefined)) {
    process.emitWarning(
      `The package "${name}" was imported before its instrumentation, so its work is not recorded. ` +
        'No file that is loaded before instrumentation.ts may import it, nor that file itself.',
    )
  }
}

/**
 * Registers the hook by which instrumentations change these libraries when they are imported as ES
 * modules. For libraries that are loaded with `require` the instrumentations need no hook.
 */
async function registerHook(libraries: readonly string[], parent: string): Promise<void> {
  const { resolve } = createRequire(parent)
  const options = { include: [...libraries] }
  // The file exports these functions. It exists in versions from 2026 on.
  const { register, supportsSyncHooks } = (await import(pathToFileURL(resolve(syncHooks)).href)) as SyncHooks
  if (supportsSyncHooks()) register(options)
  else module.register(asyncHooks, pathToFileURL(parent), { data: options })
}

const syncHooks = 'import-in-the-middle/register-hooks.mjs'
const asyncHooks = 'import-in-the-middle/hook.mjs'

interface SyncHooks {
  supportsSyncHooks(): boolean
  register(options: { readonly include: string[] }): void
}

const hookPackage = '@opentelemetry/instrumentation'

/** The main file of the package that all instrumentations need. @throws APPLICATION_INSTRUMENTATION_MISSING */
function findPackage(directory: string, file: string): string {
  try {
    return createRequire(path.join(directory, 'package.json')).resolve(hookPackage)
  } catch (error) {
    throw new APPLICATION_INSTRUMENTATION_MISSING([file, hookPackage, hookPackage], { cause: error })
  }
}

/** @throws APPLICATION_INSTRUMENTATION_MISSING if the file imports a package that is not installed */
async function importFile(program: string, file: string): Promise<object> {
  try {
    return await import(pathToFileURL(program).href)
  } catch (error) {
    const [, name] = /Cannot find package '([^']+)'/.exec(String(error)) ?? []
    if (name === undefined) throw error
    throw new APPLICATION_INSTRUMENTATION_MISSING([file, name, name], { cause: error })
  }
}
