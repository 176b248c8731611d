import module from 'node:module'
import path from 'node:path'

/** Node 22.10 and later have both functions. The types of Node 20 have none. */
const { enableCompileCache = ignore, flushCompileCache = ignore } = module as {
  enableCompileCache?: (folder: string) => unknown
  flushCompileCache?: () => void
}

function ignore(): void {}

/**
 * Keeps the compiled code of an application and of the package in the application's `var/cache/`. The next start reads it
 * there, and takes a third less time. Earlier versions of Node, and a folder that is not writable, change nothing. Call it
 * before the modules are imported.
 */
export function enableCodeCache(directory: string): void {
  enableCompileCache(path.join(directory, 'var/cache'))
}

/** Writes the code that is compiled so far. After a change of flags, V8 would reject what is written later. */
export function flushCodeCache(): void {
  flushCompileCache()
}
