import { existsSync, readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import path from 'node:path'
import type { Test } from 'tap'
import { createTarball, integrityOf, readPackage } from './tarball.ts'

/** An entry of package-lock.json: it has the fields of package.json that npm needs. */
type Manifest = Readonly<Record<string, unknown>> & { readonly version: string }

/** A version of a package, and its directory, which is missing for packages of other platforms. */
interface Release {
  readonly manifest: Manifest
  readonly directory: string
}

/** A registry for `npm_config_registry`. */
export interface Registry {
  readonly url: string
  /** The paths that were requested and that are not in the registry. */
  readonly missing: readonly string[]
}

/**
 * Starts a registry of npm on 127.0.0.1 with the packages of package-lock.json, so that
 * `npm install` runs without a network. Tarballs are made from `node_modules` on demand.
 */
export async function startRegistry(t: Test): Promise<Registry> {
  const releases = readReleases()
  const missing: string[] = []
  const server = createServer((request, response) => {
    if (answer(releases, request, response)) return
    missing.push(String(request.url))
    response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"not found"}')
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/`, missing }
}

/** All packages of package-lock.json: their versions by their names. */
function readReleases(): ReadonlyMap<string, ReadonlyMap<string, Release>> {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as { packages: Record<string, Manifest> }
  const releases = new Map<string, Map<string, Release>>()
  for (const [directory, manifest] of Object.entries(packages)) {
    const name = directory.split('node_modules/').at(-1)
    if (!name) continue
    const versions = releases.get(name) ?? new Map<string, Release>()
    releases.set(name, versions.set(manifest.version, { manifest, directory }))
  }
  return releases
}

/** Answers `/<name>` with a packument, and `/<name>/-/<version>.tgz` with a tarball. */
function answer(
  releases: ReadonlyMap<string, ReadonlyMap<string, Release>>,
  { url = '', headers }: IncomingMessage,
  response: ServerResponse,
): boolean {
  const [name = '', file] = decodeURIComponent(url.slice(1)).split('/-/')
  const versions = releases.get(name)
  if (versions === undefined) return false
  if (file === undefined) {
    response.writeHead(200, { 'content-type': 'application/vnd.npm.install-v1+json' })
    response.end(JSON.stringify(packument(name, versions, `http://${headers.host}/`)))
    return true
  }
  const release = versions.get(file.replace(/\.tgz$/, ''))
  if (release === undefined || !existsSync(release.directory)) return false
  response.writeHead(200, { 'content-type': 'application/octet-stream' }).end(pack(release.directory))
  return true
}

/** The abbreviated packument, which has what `npm install` needs. The newest version is `latest`. */
function packument(name: string, versions: ReadonlyMap<string, Release>, root: string): object {
  const entries = [...versions].map(([version, release]) => {
    const { integrity, resolved, dev, optional, peer, devOptional, ...manifest } = release.manifest
    const tarball = `${root}${name}/-/${version}.tgz`
    return [version, { name, ...manifest, dist: { tarball, integrity: integrityOfRelease(release) } }] as const
  })
  const latest = [...versions.keys()].sort((a, b) => a.localeCompare(b, 'en', { numeric: true })).at(-1)
  return { name, 'dist-tags': { latest }, versions: Object.fromEntries(entries) }
}

/** The integrity of a tarball that is made here; that of the lock file for a platform that is not this one. */
function integrityOfRelease({ directory, manifest }: Release): unknown {
  if (!existsSync(directory)) return manifest.integrity
  const integrity = integrities.get(directory) ?? integrityOf(pack(directory))
  integrities.set(directory, integrity)
  return integrity
}

/** The integrities of tarballs by their directories. A tarball itself is made again: all of them have 200 MB. */
const integrities = new Map<string, string>()

function pack(directory: string): Buffer {
  return createTarball(readPackage(path.resolve(directory)))
}
