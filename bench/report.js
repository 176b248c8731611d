import { estimateMedian, relativeSpread } from './statistics.js'

/**
 * Something that is said of this project, with what measures it.
 *
 * @typedef {object} Claim
 * @property {string} title
 * @property {string} unit
 * @property {readonly Comparison[]} comparisons
 * @property {(options: Options) => Promise<Map<string, number[]>>} measure by competitor: a value for each round
 *
 * @typedef {object} Comparison
 * @property {string} name
 * @property {string | readonly string[]} numerator a competitor, or several, of which the one with
 * the least median counts
 * @property {string | number} denominator a competitor, or a number of units
 * @property {{ readonly atLeast?: number, readonly atMost?: number }} [goal]
 *
 * @typedef {object} Options
 * @property {number} rounds
 * @property {number} requests in a round
 * @property {number} warmUp requests to each process before it is measured
 */

/**
 * The comparison of a competitor with a limit that it must not exceed, in units of the claim.
 *
 * @param {string} name
 * @param {string} numerator
 * @param {number} limit
 * @returns {Comparison}
 */
export function within(name, numerator, limit) {
  return { name, numerator, denominator: limit, goal: { atMost: 1 } }
}

/**
 * Writes what was measured as Markdown: ratios first, then what they were made of.
 *
 * @param {Claim} claim
 * @param {ReadonlyMap<string, number[]>} measured
 */
export function toMarkdown({ title, unit, comparisons }, measured) {
  const ratios = comparisons.map(comparison => describeRatio(comparison, measured))
  const costs = [...measured].map(([name, values]) => [
    name,
    estimateMedian(values).median.toPrecision(3),
    `± ${(relativeSpread(values) * 100).toFixed(1)} %`,
  ])
  return [
    `### ${title}`,
    toTable(['ratio', 'median', '95 % interval', 'goal'], ratios),
    toTable(['', unit, 'spread of rounds'], costs),
  ].join('\n\n')
}

/**
 * Writes the comparisons of claims that have a goal, those first that miss it.
 *
 * @param {readonly { readonly claim: Claim, readonly measured: ReadonlyMap<string, number[]> }[]} results
 */
export function toGoalTable(results) {
  const rows = results.flatMap(({ claim: { comparisons, title }, measured }) =>
    comparisons
      .filter(({ goal }) => goal !== undefined)
      .map(comparison => [title.split(/: |, /, 1)[0] ?? '', ...describeRatio(comparison, measured)]),
  )
  const isMissed = (/** @type {readonly string[]} */ row) => row.at(-1)?.includes('missed') === true
  const sorted = [...rows.filter(isMissed), ...rows.filter(row => !isMissed(row))]
  return toTable(['', 'ratio', 'median', '95 % interval', 'goal'], sorted)
}

/**
 * @param {Comparison} comparison
 * @param {ReadonlyMap<string, number[]>} measured
 */
function describeRatio({ name, numerator, denominator, goal }, measured) {
  const below = typeof denominator === 'number' ? undefined : (measured.get(denominator) ?? [])
  const above = typeof numerator === 'string' ? numerator : findLeast(numerator, measured)
  const ratios = (measured.get(above) ?? []).map(
    (value, round) => value / Number(below === undefined ? denominator : below[round]),
  )
  const { median, low, high } = estimateMedian(ratios)
  return [
    above === numerator ? name : `${name} (${above})`,
    median.toFixed(2),
    `${low.toFixed(2)} – ${high.toFixed(2)}`,
    describeGoal(median, goal),
  ]
}

/**
 * The competitor with the least median over all rounds. The least of each round would be the least
 * of several errors, too.
 *
 * @param {readonly string[]} names
 * @param {ReadonlyMap<string, number[]>} measured
 */
function findLeast(names, measured) {
  const medianOf = (/** @type {string} */ name) => estimateMedian(measured.get(name) ?? []).median
  return names.reduce((least, name) => (medianOf(name) < medianOf(least) ? name : least))
}

/**
 * @param {number} ratio
 * @param {Comparison['goal']} goal
 */
function describeGoal(ratio, goal) {
  if (goal === undefined) return ''
  const { atLeast = 0, atMost = Number.POSITIVE_INFINITY } = goal
  const isReached = ratio >= atLeast && ratio <= atMost
  const text = goal.atLeast === undefined ? `≤ ${atMost.toFixed(2)}` : `≥ ${atLeast.toFixed(2)}`
  return `${text} ${isReached ? 'reached' : '**missed**'}`
}

/**
 * @param {readonly string[]} head
 * @param {readonly (readonly string[])[]} rows
 */
function toTable(head, rows) {
  const line = (/** @type {readonly string[]} */ cells) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map((_, column) => (column === 0 ? '---' : '---:'))), ...rows.map(line)].join('\n')
}
