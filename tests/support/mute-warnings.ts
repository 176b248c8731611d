import type { Test } from 'tap'

/** Node's own listener, which prints warnings: it is the first one. */
const [print] = process.listeners('warning')

/** Until the test ends, Node does not print the warnings of a name, such as `MaxListenersExceededWarning`: the test makes them. */
export function muteWarnings(t: Test, name: string): void {
  if (print?.name !== 'onWarning') return
  const printOthers = (warning: Error) => {
    if (warning.name !== name) print(warning)
  }
  process.off('warning', print).prependListener('warning', printOthers)
  t.teardown(() => void process.off('warning', printOthers).prependListener('warning', print))
}
