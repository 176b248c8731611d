import { locateFrame } from './locate-frame.ts'
import { parseStack } from './stack-frames.ts'

/** A place in the code. */
export interface DeclarationSite {
  /** As `locateFrame` names it. */
  readonly file: string
  readonly line: number
  readonly column: number
}

const sites = new WeakMap<object, { readonly message: string; readonly stack?: string }>()

/**
 * Remembers the place in the code that declares something now, such as a route: the caller of the function `below`. A capture
 * costs two microseconds; the stack is parsed, with source maps, when the place is asked for.
 */
export function noteDeclaration(declared: object, below: (...values: never[]) => unknown): void {
  const caught = { message: '' }
  Error.captureStackTrace(caught, below)
  sites.set(declared, caught)
}

/** The place where something was declared: that of the application, or else the outermost known one; `undefined` if unknown. */
export function findDeclaration(declared: unknown, directory: string): DeclarationSite | undefined {
  const caught = Object(declared) === declared ? sites.get(declared as object) : undefined
  const frames = parseStack(caught).flatMap(({ column = 1, line = 1, ...frame }) => {
    const { file, origin } = locateFrame(frame, directory)
    return file === undefined || origin === 'runtime' ? [] : [{ origin, site: { file, line, column } }]
  })
  const found = frames.find(({ origin }) => origin === 'application') ?? frames.find(({ site }) => isOutside(site))
  return found?.site
}

/** A route of a bundle is declared by a call of the collection of routes. */
function isOutside({ file }: { readonly file: string }): boolean {
  return !/\blib[\\/]routing[\\/]/.test(file)
}
