/**
 * The median of paired ratios, and between which of them the true one lies.
 *
 * @typedef {object} Estimate
 * @property {number} median
 * @property {number} low
 * @property {number} high
 */

/**
 * Estimates a median with its 95 % interval by order statistics: no shape of distribution is assumed. Fewer than six
 * values have no such interval; their extremes stand in for it.
 *
 * @param {readonly number[]} values
 * @returns {Estimate}
 */
export function estimateMedian(values) {
  const sorted = values.toSorted((one, other) => one - other)
  const rank = intervalRank(sorted.length)
  return { median: median(sorted), low: at(sorted, rank), high: at(sorted, sorted.length - 1 - rank) }
}

/**
 * Half the width of the middle half of the values, relative to their median: how noisy they are.
 *
 * @param {readonly number[]} values
 */
export function relativeSpread(values) {
  const sorted = values.toSorted((one, other) => one - other)
  const quarter = Math.floor(sorted.length / 4)
  return (at(sorted, sorted.length - 1 - quarter) - at(sorted, quarter)) / 2 / median(sorted)
}

/** @param {readonly number[]} sorted */
function median(sorted) {
  const middle = sorted.length / 2
  return (at(sorted, Math.ceil(middle - 1)) + at(sorted, Math.floor(middle))) / 2
}

/**
 * How many values lie outside on each side, so that the median is within with a probability of at least 95 %.
 *
 * @param {number} count
 */
function intervalRank(count) {
  let rank = 0
  let probability = 0.5 ** count
  let tail = probability
  while (tail + (probability * (count - rank)) / (rank + 1) <= 0.025) {
    probability *= (count - rank) / (rank + 1)
    tail += probability
    rank++
  }
  return rank
}

/**
 * @param {readonly number[]} values
 * @param {number} index
 */
function at(values, index) {
  const value = values[index]
  if (value === undefined) throw new RangeError('There are no measurements.')
  return value
}
