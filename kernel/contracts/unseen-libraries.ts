declare module '../../lib/signals.ts' {
  interface SignalMap {
    /** The application has loaded a version of a library, or a copy in a bundle, whose work is not seen. */
    'library.unseen': UnseenLibrary
  }
}

/**
 * A library whose version is too old to report its work, or a copy of it in a file of a bundler,
 * whose version is empty.
 */
export interface UnseenLibrary {
  readonly name: string
  readonly version: string
  /** The first version that reports them. */
  readonly first: string
  /** What it does not report. */
  readonly work: 'queries' | 'commands' | 'resolvers' | 'mails'
}

/** Writes that a library is not seen. */
export function describeUnseen({ first, name, version, work }: UnseenLibrary): string {
  if (version === '')
    return `A bundler has put ${name} into its own files, where its ${work} are not seen. Left outside, as by serverExternalPackages of Next.js, they are.`
  return `${name} ${version} does not report its ${work}; ${first} does.`
}

const unseen: UnseenLibrary[] = []
const listeners = new Set<(library: UnseenLibrary) => void>()

/** The loaded libraries that are not seen. */
export const unseenLibraries: readonly UnseenLibrary[] = unseen

/** Passes each library that is not seen, now or when it is loaded, until the returned function is called. */
export function onUnseenLibrary(listener: (library: UnseenLibrary) => void): () => void {
  for (const library of unseen) listener(library)
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/** Notes a library that is not seen. */
export function noteUnseen(library: UnseenLibrary): void {
  unseen.push(library)
  for (const listener of listeners) listener(library)
}
