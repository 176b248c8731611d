import { readFileSync } from 'node:fs'
import type { Profile } from '#bundles/profiler/profile/profile.ts'
import { Response } from '#lib/http/response.ts'
import type { RequestHandler } from '#lib/routing/route-collection.ts'

/** A page with its hidden answer. */
export interface Page {
  /** The rule that finds its fault; `healthy` without one; `out of sight` if no rule can find it. */
  readonly answer: string
  /** Why the fault is out of sight. */
  readonly reason?: string
  readonly handle: RequestHandler
  /** The default is GET. */
  readonly method?: string
  /** Whether the browser follows its redirects: the answer is that of the last page. */
  readonly isFollowed?: true
  /** Paths that the browser loads because the page refers to them. */
  readonly assets?: readonly string[]
  /** Whether the profile is complete, of a page whose work goes on after the response. */
  readonly isComplete?: (profile: Profile) => boolean
}

/** Pages by their names. The line of a fault ends with the comment `// here: ` and the name. */
export type Pages = Readonly<Record<string, Page>>

export const pathOf = (name: string): string => `/planted/${name}`

export const page = (): Response => Response.html('<body>a page</body>')

const folder = 'tests/bundles/profiler/insight/findings/planted'
const files = [
  'planted-bundle.ts',
  'query-pages.ts',
  'call-pages.ts',
  'work-pages.ts',
  'client-pages.ts',
  'mail-pages.ts',
].map(name => `${folder}/${name}`)

/** Finds the lines of the faults by their comments: `file:line` by the name of the page. */
export function findMarkedLines(): ReadonlyMap<string, string> {
  const marks = files.flatMap(file =>
    readFileSync(file, 'utf8')
      .split('\n')
      .flatMap((line, index) => {
        const name = /\/\/ here: (\S+)$/.exec(line)?.[1]
        return name === undefined ? [] : [[name, `${file}:${index + 1}`] as const]
      }),
  )
  return new Map(marks)
}
