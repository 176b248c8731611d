import { describeDump } from '../../dist/bundles/profiler/record/console-trace.js'
import { dump, observeDumps } from '../../dist/kernel/dump.js'
import { Redactor } from '../../dist/lib/redact/redactor.js'
import { measureFunctions } from '../measure-functions.js'

/** A cheap call is repeated: the loop around a call costs as much as the call. */
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

/** @param {unknown} value */
const same = value => value

/** @param {(value: unknown) => unknown} call */
const repeat = call => () => {
  for (let turn = 0; turn < repetitions; turn++) call(product)
}

/**
 * A dump in production, where nothing observes it, beside a call that only returns its value; and in development.
 *
 * @type {import('../report.js').Claim}
 */
export const dumps = {
  title: 'A dump',
  unit: 'CPU ns/dump',
  comparisons: [
    {
      name: 'production − a call that returns its value / 5 ns',
      numerator: 'added in production',
      denominator: 'budget',
      goal: { atMost: 1 },
    },
  ],
  measure: async ({ rounds }) => {
    const cheap = await measureFunctions(
      { 'a call that returns its value': repeat(same), production: repeat(dump) },
      { rounds, calls: 20_000 },
    )
    const measured = new Map([...cheap].map(([name, costs]) => [name, costs.map(cost => cost / repetitions)]))
    const plain = measured.get('a call that returns its value') ?? []
    const production = measured.get('production') ?? []
    measured.set(
      'added in production',
      production.map((cost, round) => Math.max(0, cost - Number(plain[round]))),
    )
    measured.set('budget', [...plain.map(() => 5)])
    const redactor = new Redactor()
    const stop = observeDumps({ record: value => describeDump(value, redactor) !== undefined, print: () => undefined })
    const costly = await measureFunctions({ 'development, without its place': () => dump(product) }, { rounds, calls: 5_000 })
    stop()
    return new Map([...measured, ...costly])
  },
}
