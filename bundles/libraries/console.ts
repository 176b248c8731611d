import { consoleCalls } from '../../kernel/contracts/process-calls.ts'
import { observeMethod } from '../../lib/observe-calls.ts'
import { endAll, share } from '../../lib/share.ts'
import type { Library } from './library.ts'
import { isLine } from './printed-lines.ts'

const methods = ['log', 'info', 'warn', 'error', 'debug', 'table', 'trace', 'dir']

/** The global console. Everything is printed as before. */
export const nodeConsole: Library = {
  name: 'console',
  reports: 'process',
  seenBy: 'patch',
  notSeen: `other methods than ${methods.map(name => `\`${name}\``).join(', ')}`,
  patch: share(patchConsole),
}

/** Whether a value prints while it is copied. */
let isCopying = false

/**
 * The last call, if its method prints by `log` or `error`: the beginning of what it prints, and
 * its value, which it may print as it is.
 */
let printing: { readonly beginning: string; readonly value: unknown } | undefined

function patchConsole(): () => void {
  const { console } = globalThis
  return endAll(methods.map(method => observeMethod(console, method, (_, values) => void pass(method, values))))
}

const beginnings: ReadonlyMap<string, string> = new Map([
  ['table', '┌'],
  ['trace', 'Trace'],
])

function pass(method: string, values: readonly unknown[]): void {
  const value = values[0]
  const isPrinted =
    value === printing?.value || (typeof value === 'string' && value.startsWith(`${printing?.beginning}`))
  const isInner = printing !== undefined && values.length === 1 && isPrinted
  const beginning = beginnings.get(method)
  printing = beginning === undefined ? undefined : { beginning, value }
  if (isInner || isCopying || isLine(values)) return
  isCopying = true
  consoleCalls.pass(method, values)
  isCopying = false
}
