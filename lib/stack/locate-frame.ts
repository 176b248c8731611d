import path from 'node:path'
import { packageDirectory, packageName } from '../package.ts'
import { showPath } from '../text/show-path.ts'
import { parseStack, type StackFrame } from './stack-frames.ts'

/** The place of a call, seen from the application. */
export interface FrameLocation {
  /**
   * Relative to the application's directory for files below it. Files of the installed package begin with its name.
   * Other files have absolute paths, or V8's name where there is no file. Absent for functions built into the engine.
   */
  readonly file?: string
  /**
   * `kernel`: the package `sinfonietta`. `vendor`: every other package of npm, and files outside of the application.
   * `runtime`: Node or the engine.
   */
  readonly origin: 'application' | 'kernel' | 'vendor' | 'runtime'
  /** The npm package of a file in `node_modules`: `handlebars`, `@scope/name`. */
  readonly package?: string
}

/** The folders of the package that it publishes. The rest of its repository is an application, with its tests. */
const ownFolders: readonly string[] = [
  'lib',
  'kernel',
  'bin',
  'bundles/framework',
  'bundles/maker',
  'bundles/opentelemetry',
  'bundles/profiler',
].map(folder => path.normalize(folder) + path.sep)

/** The folder of compiled code, with the paths of the sources. Frames name it where source maps are off. */
const compiled = `dist${path.sep}`

/**
 * Gives the place of a frame, seen from the application in a directory. The directory of the package is different where
 * the package is installed, also by a link to its repository.
 */
export function locateFrame(
  { file }: Pick<StackFrame, 'file'>,
  directory: string,
  ownDirectory: string = packageDirectory,
): FrameLocation {
  if (file === undefined) return { origin: 'runtime' }
  if (file.startsWith('node:')) return { file, origin: 'runtime' }
  const own = showPath(file, ownDirectory)
  const source = withoutCompiled(own)
  if (own !== file && ownFolders.some(folder => source.startsWith(folder))) {
    return { file: ownDirectory === directory ? source : path.join(packageName, own), origin: 'kernel' }
  }
  const inside = showPath(file, directory)
  const npmPackage = findPackage(inside)
  if (npmPackage !== undefined) return { file: inside, origin: 'vendor', package: npmPackage }
  return inside === file ? { file, origin: 'vendor' } : { file: withoutCompiled(inside), origin: 'application' }
}

/** The innermost call of the application in the stack of an error; `undefined` without one. */
export function findOwnFrame(error: unknown, directory: string): StackFrame | undefined {
  return parseStack(error).find(frame => locateFrame(frame, directory).origin === 'application')
}

/**
 * Adds the place of an error in the application to a message: `It is wrong (bundles/shop/shop-bundle.ts:12).` The place is the
 * innermost call, if that still runs: the programs in `bin/` only wait. A message that names the file stays as it is.
 */
export function addOwnPlace(message: string, error: unknown, directory: string): string {
  const frame = findOwnFrame(error, directory)
  const file = frame && locateFrame(frame, directory).file
  if (frame === undefined || frame.isAsync || message.includes(String(file))) return message
  return message.replace(/\.?$/, end => ` (${file}:${frame.line})${end}`)
}

/** The absolute path of a file that {@link locateFrame} has named. */
export function resolveLocated(file: string, directory: string, ownDirectory: string = packageDirectory): string {
  const prefix = packageName + path.sep
  const isOwn = ownDirectory !== directory && file.startsWith(prefix)
  return isOwn ? path.join(ownDirectory, file.slice(prefix.length)) : path.resolve(directory, file)
}

function withoutCompiled(file: string): string {
  return file.startsWith(compiled) ? file.slice(compiled.length) : file
}

/** Packages may be nested: the innermost one has the file. */
function findPackage(file: string): string | undefined {
  return /^(?:.*[\\/])?node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)[\\/]/.exec(file)?.[1]?.replace('\\', '/')
}
