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
 * @property {string} numerator a competitor
 * @property {string} denominator a competitor
 * @property {{ readonly atLeast?: number, readonly atMost?: number }} [goal]
 *
 * @typedef {object} Options
 * @property {number} rounds
 * @property {number} requests in a round
 */

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
 * @param {Comparison} comparison
 * @param {ReadonlyMap<string, number[]>} measured
 */
function describeRatio({ name, numerator, denominator, goal }, measured) {
  const below = measured.get(denominator) ?? []
  const ratios = (measured.get(numerator) ?? []).map((value, round) => value / Number(below[round]))
  const { median, low, high } = estimateMedian(ratios)
  return [name, median.toFixed(2), `${low.toFixed(2)} – ${high.toFixed(2)}`, describeGoal(median, goal)]
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
