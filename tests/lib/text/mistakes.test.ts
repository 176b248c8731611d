import fc from 'fast-check'
import { t } from 'tap'
import { nearestNames } from '#lib/text/mistakes.ts'

t.test('the nearest names are those with the fewest mistakes: swapped neighbours are one', async t => {
  const cases: readonly (readonly [mistyped: string, limit: number, names: string, nearest: string])[] = [
    ['itmes', 1, 'items times', 'items times'],
    ['itme', 2, 'home item', 'item home'],
    ['ab', 1, 'ba', 'ba'],
    ['abc', 1, 'acb bac cba', 'acb bac'],
    ['ca', 2, 'abc', ''],
    ['recieve', 1, 'receive relieve', 'receive relieve'],
    ['metohds', 1, 'methods', 'methods'],
    ['sttaus', 1, 'status', 'status'],
    ['aabb', 1, 'abab', 'abab'],
    ['', 2, 'ab abc', 'ab'],
    ['ab', 2, '', ''],
    ['item', 0, 'item itme', 'item'],
  ]
  for (const [mistyped, limit, names, nearest] of cases) {
    t.strictSame(nearestNames(mistyped, names.split(' '), limit).join(' '), nearest, mistyped)
  }
})

t.test('the distance is that of the definition, for random texts', async t => {
  const slow = (from: string, to: string): number => {
    if (from === '' || to === '') return from.length + to.length
    const [a, b] = [from.slice(0, -1), to.slice(0, -1)]
    const isSwapped = from.length > 1 && to.length > 1 && from.at(-1) === to.at(-2) && from.at(-2) === to.at(-1)
    return Math.min(
      slow(a, to) + 1,
      slow(from, b) + 1,
      slow(a, b) + (from.at(-1) === to.at(-1) ? 0 : 1),
      isSwapped ? slow(from.slice(0, -2), to.slice(0, -2)) + 1 : Number.POSITIVE_INFINITY,
    )
  }
  const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c'), maxLength: 6 })
  const check = (from: string, to: string) => {
    const distance = slow(from, to)
    t.strictSame([nearestNames(from, [to], distance), nearestNames(from, [to], distance - 1)], [[to], []])
  }
  fc.assert(fc.property(text, text, check))
})
