import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, unlinkSync, watch, writeFileSync } from 'node:fs'
import path from 'node:path'
import { knownMethods } from '../../../../lib/http/request-line.ts'
import type { RouteCollection } from '../../../../lib/routing/route.ts'
import { asObject, asOptionalNumber, asText } from '../../profile/read-soft.ts'
import { shownRoutes } from '../../profile/routes.ts'
import { parseJsonObject } from '../../profile/schema.ts'
import { directoryMode, fileMode } from '../../store/file-system.ts'

/** Which request is sampled: the next one that a route takes, or that asks for a path with a method. */
export type CpuTarget = { readonly route: string } | { readonly method: string; readonly path: string }

/** A request that is waited for. */
export interface Arming {
  readonly target: CpuTarget
  /** Milliseconds since 1970; whoever comes later is not sampled. */
  readonly until: number
}

/** Milliseconds that a request is waited for: who has forgotten about it is not to be surprised. */
const patience = 5 * 60_000

/** Begins to wait for a request. */
export function createArming(target: CpuTarget, now: number): Arming {
  return { target, until: now + patience }
}

/** Reads what a process has written for others; `undefined` when it is nothing of the kind. */
export function parseArming(text: string): Arming | undefined {
  const { target, until } = parseJsonObject(text) ?? {}
  const [method, path, route] = [asObject(target).method, asObject(target).path, asObject(target).route].map(asText)
  const limit = asOptionalNumber(until)
  if (limit === undefined) return undefined
  if (route) return { target: { route }, until: limit }
  return method && path ? { target: { method, path }, until: limit } : undefined
}

/** Names a request that is waited for: `the next request of the route "booth"`. */
export function describeTarget(target: CpuTarget): string {
  return 'route' in target
    ? `the next request of the route "${target.route}"`
    : `the next ${target.method} ${target.path}`
}

/**
 * The file by which all processes of a project (workers, the console) know which request is waited for. Nobody looks at
 * it for a request: the directory it lies in is watched, in which nothing else changes.
 */
export class ArmFile {
  readonly #file: string

  constructor(file: string) {
    this.#file = file
  }

  /** What is waited for; `undefined` when that is nothing. */
  read(): Arming | undefined {
    try {
      return parseArming(readFileSync(this.#file, 'utf8'))
    } catch {
      return undefined
    }
  }

  /** Puts it in the place of what was waited for before. @throws when the disk does not allow it */
  write(arming: Arming): void {
    const draft = `${this.#file}.${randomUUID()}`
    mkdirSync(path.dirname(this.#file), { recursive: true, mode: directoryMode })
    writeFileSync(draft, JSON.stringify(arming), { flag: 'wx', mode: fileMode })
    // Whoever reads sees all of it.
    renameSync(draft, this.#file)
  }

  /** Takes it away; false when somebody else has done so: of several processes only one gets the request. */
  remove(): boolean {
    try {
      unlinkSync(this.#file)
      return true
    } catch (error) {
      return (error as NodeJS.ErrnoException).code !== 'ENOENT'
    }
  }

  /** Tells when it may have changed, until the returned function is called. @throws when the disk does not allow it */
  watch(onChange: () => void): () => void {
    const directory = path.dirname(this.#file)
    mkdirSync(directory, { recursive: true, mode: directoryMode })
    const watcher = watch(directory, { persistent: false }, (_event, file) => {
      if (file === path.basename(this.#file)) onChange()
    })
    watcher.on('error', () => watcher.close())
    return () => watcher.close()
  }
}

/** What somebody has asked for, in words. */
export interface WantedTarget {
  readonly route?: string | undefined
  readonly path?: string | undefined
  /** GET unless told else. */
  readonly method?: string | undefined
}

/** Finds what somebody has asked for: a target, or a sentence that says what is wrong with it. */
export function readTarget({ method, path, route }: WantedTarget, routes: RouteCollection): CpuTarget | string {
  if (route) {
    const isKnown = shownRoutes(routes).some(({ name }) => name === route)
    return isKnown ? { route } : `There is no route "${route}".`
  }
  if (!path) return 'Name a route or a path.'
  const name = (method || 'GET').toUpperCase()
  if (!knownMethods.some(known => known === name)) return `There is no method "${name}".`
  // A query is not part of what is compared.
  const [asked = ''] = path.split(/[?#]/)
  return asked.startsWith('/') ? { method: name, path: asked } : `A path begins with a slash, unlike "${path}".`
}
