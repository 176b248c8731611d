import path from 'node:path'
import { loggedLines } from '../../kernel/contracts/process-calls.ts'
import { observeMethod } from '../../lib/observe-calls.ts'
import { loadPrototype } from './framework-calls.ts'
import type { Library } from './library.ts'
import { toChannel, toLine, toLogLevel } from './printed-lines.ts'

/** Lines of consola 3, which are those of Nitro and Nuxt, too. */
export const consola: Library = {
  name: 'consola',
  reports: 'logs',
  seenBy: 'patch',
  notSeen: 'version 2; lines without a reporter of its own: another one may hide some of them',
  changes: { 'consola/dist/core.cjs': core => watchLogger(Object(Object(core).Consola).prototype) },
  opens: { consola: async folder => watchLogger(await loadPrototype(path.join(folder, 'dist/core.mjs'), 'Consola')) },
}

function watchLogger(prototype: object | undefined): void {
  observeMethod(prototype, '_log', (self, [line]) => {
    const { reporters } = (self as { readonly options: { readonly reporters: readonly object[] } }).options
    if (!reporters.some(({ constructor: { name } }) => /^(?:Basic|Fancy)Reporter$/.test(name))) return
    const { args, tag, type } = line as {
      readonly args: readonly unknown[]
      readonly tag: unknown
      readonly type: unknown
    }
    loggedLines.pass(toLogLevel(type), () => ({ channel: toChannel('consola', tag), ...toLine(args) }))
  })
}
