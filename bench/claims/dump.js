import { describeDump } from '../../dist/bundles/profiler/subjects/console/record.js'
import { dump, observeDumps } from '../../dist/kernel/contracts/dump.js'
import { Redactor } from '../../dist/lib/redact/redactor.js'
import { measureFunctions } from '../measure-functions.js'
import { within } from '../report.js'

/** A call takes less than the measurement of it. */
const repetitions = 1000

const product = {
  id: 7,
  name: 'Teapot',
  price: { amount: 1250, currency: 'EUR' },
  tags: ['kitchen', 'tea', 'new'],
  stock: new Map([
    ['Berlin', 3],
    ['Lyon', 0],
  ]),
}

/**
 * @param {unknown} value
 * @param {string} [_label]
 */
const same = (value, _label) => value

/** Two loops, as V8 compiles each call at its own place in an application, too. */
const functions = {
  'a call that returns its value'() {
    for (let turn = 0; turn < repetitions; turn++) same(product)
  },
  production() {
    for (let turn = 0; turn < repetitions; turn++) dump(product)
  },
}

/**
 * A dump in production, where nothing observes it, beside a call that only returns its value; and in development.
 *
 * @type {import('../report.js').Claim}
 */
export const dumps = {
  title: 'A dump',
  unit: 'CPU ns/dump',
  comparisons: [within('production − a call that returns its value / 5 ns', 'added in production', 5)],
  measure: async ({ rounds }) => {
    const cheap = await measureFunctions(functions, { rounds, calls: 20_000 })
    const measured = new Map([...cheap].map(([name, costs]) => [name, costs.map(cost => cost / repetitions)]))
    const plain = measured.get('a call that returns its value') ?? []
    const production = measured.get('production') ?? []
    measured.set(
      'added in production',
      production.map((cost, round) => Math.max(0, cost - Number(plain[round]))),
    )
    const redactor = new Redactor()
    const stop = observeDumps({
      record: value => describeDump(value, redactor, '/') !== undefined,
      print: () => undefined,
    })
    const costly = await measureFunctions(
      { 'development, without its place': () => dump(product) },
      { rounds, calls: 5_000 },
    )
    stop()
    return new Map([...measured, ...costly])
  },
}
