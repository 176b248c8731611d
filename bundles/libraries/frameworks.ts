import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { findPackage } from '../../lib/find-package.ts'
import { subscribeChannels } from '../../lib/guard.ts'
import { listenToExpress, openExpress } from './express.ts'
import { fastifyFiles, fastifyListeners } from './fastify.ts'
import { changeFiles } from './publish.ts'

let isListening = false

/** Listens to the channels of Fastify, and to those of Express 5 if it is not changed. An application of Fastify is seen if it is created later. */
export function listenToFrameworks(): void {
  listenToExpress()
  if (isListening) return
  isListening = true
  subscribeChannels(fastifyListeners)
}

/**
 * Lets Express, Koa, Hono and Nest report what they publish nowhere. The files of Express and Fastify are changed when they are loaded. The
 * others are changed if they are a dependency of one of the directories, or of a package that is one, such as Feathers: then the application
 * imports them anyway. It must be called before that.
 */
export async function openFrameworks(directories: readonly string[]): Promise<void> {
  const folders = [...new Set(directories.map(findProject))]
  for (const [name, files] of Object.entries({ express: openExpress, fastify: () => fastifyFiles })) {
    if (opened.has(name) || folders.every(folder => findPackage(folder, name) === undefined)) continue
    opened.add(name)
    changeFiles(files())
  }
  listenToFrameworks()
  for (const folder of folders) {
    const packages = [folder, ...[...readNames(folder)].flatMap(name => findPackage(folder, name) ?? [])]
    const dependencies = packages.map(each => [each, readNames(each)] as const)
    for (const [name, open] of Object.entries(openers)) {
      for (const [owner, names] of dependencies) {
        const found = names.has(name) ? findPackage(owner, name) : undefined
        if (found === undefined || opened.has(found)) continue
        opened.add(found)
        await open(found)
      }
    }
  }
}

/** The folders of changed packages, and the names of those whose files are changed wherever they are. */
const opened = new Set<string>()

const openers: Readonly<Record<string, (folder: string) => Promise<void>>> = {
  koa: async folder => (await import('./koa.ts')).openKoa(folder),
  '@koa/router': async folder => (await import('./koa.ts')).openKoaRouter(folder),
  'koa-router': async folder => (await import('./koa.ts')).openKoaRouter(folder),
  hono: async folder => (await import('./hono.ts')).openHono(folder),
  '@nestjs/core': async folder => (await import('./nest.ts')).openNest(folder),
}

/** The folder with the package.json of a directory. */
function findProject(directory: string): string {
  const parent = path.dirname(directory)
  const isProject = parent === directory || existsSync(path.join(directory, 'package.json'))
  return isProject ? directory : findProject(parent)
}

function readNames(folder: string): ReadonlySet<string> {
  try {
    const { dependencies = {} } = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'))
    return new Set(Object.keys(dependencies))
  } catch {
    return new Set()
  }
}
