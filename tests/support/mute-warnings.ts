import type { Test } from 'tap'

/** The names that are muted now; one for each test that mutes it. */
const muted: string[] = []

/** Node's own listener, which prints warnings: it is the first one. */
const [print] = process.listeners('warning')
if (print?.name === 'onWarning') {
  const printOthers = (warning: Error) => {
    if (!muted.includes(warning.name)) print(warning)
  }
  process.off('warning', print).prependListener('warning', printOthers)
}

/**
 * Until the test ends, Node does not print the warnings of a name, such as
 * `MaxListenersExceededWarning`: the test makes them.
 */
export function muteWarnings(t: Test, name: string): void {
  muted.push(name)
  t.teardown(() => void muted.splice(muted.indexOf(name), 1))
}
