import { randomUUID } from 'node:crypto'
import { mkdirSync, readFileSync, renameSync, unlinkSync, watch, writeFileSync } from 'node:fs'
import path from 'node:path'
import { knownMethods } from '../../../../lib/http/request-target.ts'
import type { RouteCollection } from '../../../../lib/routing/route-collection.ts'
import { shownRoutes } from '../../profile/links.ts'
import { isAmount, isObject, parseJsonObject } from '../../profile/schema.ts'
import { directoryMode, fileMode } from '../../store/file-system.ts'

/** Which request is sampled: the next request of a route, or of a method and a path. */
export type CpuTarget = { readonly route: string } | { readonly method: string; readonly path: string }

/** An order to sample a request. */
export interface Arming {
  readonly target: CpuTarget
  /** Milliseconds since 1970; later requests are not sampled. */
  readonly until: number
}

/** Milliseconds that an order lasts: a forgotten order must not surprise anyone later. */
const lifetime = 5 * 60_000

/** Makes an order. */
export function createArming(target: CpuTarget, now: number): Arming {
  return { target, until: now + lifetime }
}

/** Parses the text of the file; `undefined` when it is no order. */
export function parseArming(text: string): Arming | undefined {
  const { target, until } = parseJsonObject(text) ?? {}
  if (!isObject(target) || !isAmount(until)) return undefined
  const { method, path, route } = target
  if (isName(route)) return { target: { route }, until }
  return isName(method) && isName(path) ? { target: { method, path }, until } : undefined
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}

/** Names the request of an order: `the next request of the route "booth"`. */
export function describeTarget(target: CpuTarget): string {
  return 'route' in target
    ? `the next request of the route "${target.route}"`
    : `the next ${target.method} ${target.path}`
}

/**
 * The file by which all processes of a project (workers, the console) share the order. It is not read for each request:
 * its directory is watched, in which nothing else changes.
 */
export class ArmFile {
  readonly #file: string

  constructor(file: string) {
    this.#file = file
  }

  /** The order; `undefined` without one. */
  read(): Arming | undefined {
    try {
      return parseArming(readFileSync(this.#file, 'utf8'))
    } catch {
      return undefined
    }
  }

  /** Replaces the order. @throws when the disk does not allow it */
  write(arming: Arming): void {
    const draft = `${this.#file}.${randomUUID()}`
    mkdirSync(path.dirname(this.#file), { recursive: true, mode: directoryMode })
    writeFileSync(draft, JSON.stringify(arming), { flag: 'wx', mode: fileMode })
    // Readers see the whole file or none.
    renameSync(draft, this.#file)
  }

  /** Removes the order; false when another process did so first: only one process samples the request. */
  remove(): boolean {
    try {
      unlinkSync(this.#file)
      return true
    } catch (error) {
      return (error as NodeJS.ErrnoException).code !== 'ENOENT'
    }
  }

  /**
   * Calls the listener when the order may have changed, until the returned function is called. @throws when the disk
   * does not allow it
   */
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

/** A request to sample, as a person writes it. */
export interface WantedTarget {
  readonly route?: string | undefined
  readonly path?: string | undefined
  /** GET by default. */
  readonly method?: string | undefined
}

/** Finds the target; or a sentence that says what is wrong. */
export function readTarget({ method, path, route }: WantedTarget, routes: RouteCollection): CpuTarget | string {
  if (route) {
    const isKnown = shownRoutes(routes).some(({ name }) => name === route)
    return isKnown ? { route } : `There is no route "${route}".`
  }
  if (!path) return 'Name a route or a path.'
  const name = (method || 'GET').toUpperCase()
  if (!knownMethods.some(known => known === name)) return `There is no method "${name}".`
  // The query is not compared.
  const [asked = ''] = path.split(/[?#]/)
  return asked.startsWith('/') ? { method: name, path: asked } : `A path begins with a slash, unlike "${path}".`
}
