import { isBuiltin } from 'node:module'
import { findPackage } from '../../lib/find-package.ts'
import { changeFiles, type FileChanges } from './publish.ts'

/** The libraries that get diagnostics channels here. */
type SilentLibrary = 'pg' | 'mysql2' | 'postgres' | 'better-sqlite3' | 'mongodb' | 'ioredis' | 'node:sqlite'

/**
 * Lets libraries publish their queries on diagnostics channels, which they do not do by themselves, mysql2 its pools, and ioredis its waiting commands: their classes are changed
 * when they are loaded, so it must be called before the application is imported. Their exports stay the same objects. Nothing
 * happens without the library in a folder `node_modules` of the directory or above it, and for a library that is `excluded`,
 * because something else reports its queries.
 */
export async function openLibraryChannels(
  directory: string,
  isExcluded: (library: SilentLibrary) => boolean = () => false,
): Promise<void> {
  const changes: FileChanges[] = []
  for (const [library, open] of Object.entries(openers) as [SilentLibrary, Opener][]) {
    const folder = library.startsWith('node:') ? library : findPackage(directory, library)
    if (folder === undefined || opened.has(folder) || isExcluded(library)) continue
    opened.add(folder)
    const found = await open(folder)
    // CommonJS libraries are hooked by their names, wherever they are.
    if (found === undefined || opened.has(library)) continue
    opened.add(library)
    changes.push(found)
  }
  changeFiles(Object.assign({}, ...changes))
}

/** The folders of the packages that have their channels, and the names of those that are CommonJS. */
const opened = new Set<string>()

/** Changes a library, or returns what changes its files when they are loaded. */
type Opener = (folder: string) => Promise<FileChanges | undefined>

const openers: Readonly<Record<SilentLibrary, Opener>> = {
  pg: async () => (await import('./open-pg.ts')).pgFiles,
  mysql2: async () => (await import('./open-mysql2.ts')).mysql2Files,
  'better-sqlite3': async () => (await import('./open-sqlite.ts')).betterSqliteFiles,
  ioredis: async () => (await import('./open-ioredis.ts')).ioredisFiles,
  mongodb: async () => (await import('./open-mongodb.ts')).mongodbFiles,
  async postgres(folder) {
    await (await import('./open-postgres.ts')).openPostgres(folder)
    return undefined
  },
  async 'node:sqlite'() {
    if (isBuiltin('node:sqlite')) (await import('./open-sqlite.ts')).openNodeSqlite()
    return undefined
  },
}
