/**
 * Creates what gives a part that is loaded when it is asked for first: whoever asks gets the same, a failure as well, as
 * Node too remembers of a module that it could not be loaded.
 */
export function loadOnce<part>(load: () => Promise<part>): () => Promise<part> {
  let loaded: Promise<part> | undefined
  return () => {
    loaded ??= load()
    return loaded
  }
}
