/** Milliseconds between two questions; an answer takes about one. */
const interval = 1000

/**
 * `<main data-sources="version" data-poll="path">` shows files that cannot be used. Loads the page again when the server answers
 * with another version: there are other mistakes, or the application runs. While it restarts there is no answer.
 */
export function followSources(main: HTMLElement | null): void {
  if (main === null) return
  const { poll = '', sources } = main.dataset
  const ask = async () => {
    const version = document.hidden
      ? sources
      : await fetch(poll, { method: 'HEAD', redirect: 'manual' }).then(
          ({ headers }) => headers.get('x-sources'),
          () => sources,
        )
    if (version === sources) setTimeout(ask, interval)
    else location.reload()
  }
  setTimeout(ask, interval)
}
