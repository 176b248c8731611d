import { ARGUMENT_INVALID } from '../../lib/errors/arguments.ts'
import type { View } from '../../lib/view/view.ts'

/**
 * Adds the helpers that compare and join values: `{{#if (eq status 'open')}}`, `not`, `and`, `or`, and `{{concat 'a' b}}`. A value
 * counts as true if it does for `{{#if}}`: not `0`, an empty text or an empty list.
 */
export function addComparisonHelpers(view: Pick<View, 'addHelper'>): void {
  const add = (name: string, count: 1 | 2 | 'two or more', compute: (values: readonly unknown[]) => unknown) =>
    view.addHelper(name, ({ positional }) => {
      const isRight = typeof count === 'number' ? positional.length === count : positional.length >= 2
      if (isRight) return compute(positional)
      throw new ARGUMENT_INVALID([`{{${name}}}`, `it takes ${count} ${count === 1 ? 'value' : 'values'}`])
    })
  add('eq', 2, ([one, other]) => one === other)
  add('not', 1, ([value]) => !isTrue(value))
  add('and', 'two or more', values => values.every(isTrue))
  add('or', 'two or more', values => values.some(isTrue))
  add('concat', 'two or more', values => values.map(value => String(value ?? '')).join(''))
}

function isTrue(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : Boolean(value)
}
