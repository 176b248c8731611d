import { t } from 'tap'
import { bcrypt } from '#bundles/libraries/bcrypt.ts'
import { consola } from '#bundles/libraries/consola.ts'
import { toError } from '#bundles/libraries/printed-lines.ts'
import { asyncCalls, loggedLines } from '#kernel/contracts/process-calls.ts'
import { fill, findGrowth, growthLimit } from '#tests/support/growth.ts'

// The real packages are those of proofs, and consola as an ES module.

t.test('the native functions of bcrypt are asynchronous calls', async t => {
  const seen: string[] = []
  const stop = asyncCalls.observe(call => {
    seen.push(call.name)
    call.end = () => seen.push('end')
  })
  const bindings = { encrypt: (text: string, callback: (error: unknown, hash: string) => void) => callback(null, text) }
  bcrypt.changes?.['bcrypt.glibc.node']?.(bindings, '')
  bindings.encrypt('hash', (_, hash) => seen.push(hash))
  stop()
  t.strictSame(seen, ['bcrypt.hash', 'end', 'hash'])
})

t.test('lines of consola as CommonJS are logged', async t => {
  class BasicReporter {}
  class Consola {
    readonly options = { reporters: [new BasicReporter()] }
    _log(line: object): object {
      return line
    }
  }
  consola.changes?.['consola/dist/core.cjs']?.({ Consola }, '')
  const seen: unknown[] = []
  const stop = loggedLines.observe((level, read) => seen.push([level, read()]))
  new Consola()._log({ args: ['sold out'], tag: 'shop', type: 'warn' })
  stop()
  t.strictSame(seen, [['warning', { channel: 'consola:shop', message: 'sold out', context: {} }]])
})

t.test('the message of a printed error takes linear time to read', t => {
  const pieces = ['\n', '\n ', '\n\t\r', ' ', 'at ', '\nat ', 'a: ', '[', '.']
  const slow = pieces.filter(piece => {
    return (
      findGrowth(
        stack => toError({ stack }).message,
        length => fill(piece, length),
      ) >= growthLimit
    )
  })
  t.strictSame(slow, [])
  t.equal(toError({ stack: 'TypeError: sold\n\nout\n    at buy (shop.js:1:1)' }).message, 'sold\n\nout')
  t.end()
})
