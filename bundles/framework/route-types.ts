import { existsSync } from 'node:fs'
import path from 'node:path'
import type { Application } from '../../kernel/bundle.ts'
import { readRegularFile, replaceFileNow } from '../../lib/folders.ts'
import { packageName } from '../../lib/package.ts'
import type { Pattern } from '../../lib/routing/pattern.ts'
import type { Route } from '../../lib/routing/route.ts'

/**
 * Writes the names and variables of the routes for the compiler and the editor, into
 * `var/routes.d.ts` of an application with TypeScript, if they have changed. See `KnownRoutes`.
 */
export async function writeRouteTypes({ directory, logger, routes }: Application): Promise<void> {
  if (!existsSync(path.join(directory, 'tsconfig.json'))) return
  const file = path.join(directory, 'var/routes.d.ts')
  const text = toRouteTypes(routes)
  try {
    // Another user may run the editor.
    if ((await readRegularFile(file))?.toString() !== text) replaceFileNow(file, text, 0o644)
  } catch (exception) {
    logger.warning('The types of the routes could not be written into {file}.', { file, exception })
  }
}

/** Those of the framework and the profiler begin with `_`: no page of an application links to them. */
function toRouteTypes(routes: Iterable<Route>): string {
  const own = [...routes].filter(({ name }) => !name.startsWith('_'))
  const lines = own.flatMap(route =>
    [route.name, ...route.aliases].map(name => `    ${JSON.stringify(name)}: ${toType(route)}\n`),
  )
  return `// The development server has written this file, and does so when routes change; bin/console debug:routes does, too.
export type UrlValue = string | number | bigint | boolean

declare module '${packageName}' {
  interface KnownRoutes {
${lines.toSorted().join('')}  }
}
`
}

function toType({ defaults, host, path }: Route): string {
  const patterns = [path, ...(host === undefined ? [] : [host])]
  const members = patterns.flatMap(pattern =>
    pattern.names.map(name => {
      // The language is that of the page.
      const isNeeded = isInEachForm(pattern, name) && defaults[name] === undefined && name !== '_locale'
      return `readonly ${JSON.stringify(name)}${isNeeded ? '' : '?'}: UrlValue`
    }),
  )
  return members.length === 0 ? '{}' : `{ ${members.join('; ')} }`
}

function isInEachForm({ forms }: Pattern, name: string): boolean {
  return forms.every(({ names }) => names.includes(name))
}
