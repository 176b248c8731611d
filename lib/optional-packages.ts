import { type CodedErrorClass, defineError, type HttpError } from './errors/http-error.ts'
import { findPackage, readManifest } from './find-package.ts'

/** An optional package is installed in a version that the feature cannot use. Run the `npm install` of the message. */
export const PACKAGE_VERSION_UNFIT: CodedErrorClass<[feature: string, versions: string, packages: string]> =
  defineError('PACKAGE_VERSION_UNFIT', 501, '%s needs %s: npm install %s')

/**
 * The versions of an optional package that work: from one on, and below another one. The last is the one to install.
 */
type Versions = readonly [from: string, below: string, best: string]

/**
 * The packages that an application installs only for some features. The manifest names them
 * without a version, because npm refuses to install an optional package of another version, also
 * for an application that uses it for something else.
 */
export const optionalPackages = {
  '@modelcontextprotocol/sdk': ['1.32', '2', '1'],
  // Before, there was no `zod/v4`.
  zod: ['3.25.20', '5', '4'],
  ioredis: ['5.2', '7', '6'],
  '@opentelemetry/api': ['1.9', '2', '1.9'],
  '@opentelemetry/context-async-hooks': ['2', '3', '2'],
  '@opentelemetry/core': ['2', '3', '2'],
  '@opentelemetry/exporter-trace-otlp-http': ['0.200', '0.300', '0.223'],
  '@opentelemetry/exporter-trace-otlp-proto': ['0.200', '0.300', '0.223'],
  '@opentelemetry/resources': ['2', '3', '2'],
  '@opentelemetry/sdk-trace-base': ['2', '3', '2'],
} as const satisfies Readonly<Record<string, Versions>>

export type OptionalPackage = keyof typeof optionalPackages

/** What needs some optional packages, how they are imported, and the error if one is not installed. */
interface Need<modules> {
  /** The subject of the message, such as `Redis`. */
  readonly feature: string
  readonly packages: readonly OptionalPackage[]
  readonly load: () => Promise<modules>
  /** Makes the error, with the packages as `npm install` needs them. */
  readonly missing: (packages: string, cause: unknown) => HttpError
}

/**
 * Imports optional packages, whose versions are checked before. `from` is the folder that finds them.
 *
 * @throws PACKAGE_VERSION_UNFIT, and the error of the need if a package is not installed
 */
export async function loadOptional<modules>(need: Need<modules>, from = import.meta.dirname): Promise<modules> {
  const { feature, load, missing, packages } = need
  const unfit: string[] = []
  const wanted = packages.filter(name => {
    const version = readVersion(from, name)
    if (version === undefined) return true
    const [first, below] = optionalPackages[name]
    if (isAtLeast(version, first) && !isAtLeast(version, below)) return false
    return unfit.push(`${name} from ${first} on and below ${below}, but ${version} is installed`)
  })
  // Only these: an application may need its version of another one.
  const list = (names: readonly OptionalPackage[]) =>
    names.map(name => `${name}@${optionalPackages[name][2]}`).join(' ')
  if (unfit.length > 0) throw new PACKAGE_VERSION_UNFIT([feature, unfit.join(', '), list(wanted)])
  try {
    return await load()
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_MODULE_NOT_FOUND')) throw error
    throw missing(list(wanted.length === 0 ? packages : wanted), error)
  }
}

function readVersion(from: string, name: string): string | undefined {
  const folder = findPackage(from, name)
  const { version } = folder === undefined ? {} : readManifest(folder)
  return typeof version === 'string' ? version : undefined
}

/** Whether a version is another one or a later one. A pre-release counts as its release. */
export function isAtLeast(version: string, other: string): boolean {
  const [own = [], least = []] = [version, other].map(text => text.split(/[.+-]/, 3).map(Number))
  const index = least.findIndex((part, index) => part !== (own[index] ?? 0))
  return index === -1 || (own[index] ?? 0) > (least[index] ?? 0)
}
