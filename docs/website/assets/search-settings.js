/** The settings of the search index, for the build and for the browser. */

/** Words, and names as a whole and in their parts: `TRUSTED_PROXIES` is found by `proxies` as well, `N+1` not by each 1. */
function tokenize(text) {
  const names = text.match(/[\p{Letter}\p{Number}_]+(?:\+[\p{Letter}\p{Number}_]+)*/gu) ?? []
  return names.flatMap(name => (/[_+]/.test(name) ? [name, ...name.split(/[_+]/)] : [name])).filter(name => name !== '')
}

export const settings = {
  idField: 'address',
  fields: ['title', 'page', 'text'],
  storeFields: ['title', 'page', 'excerpt'],
  tokenize,
}

/** Documents about a subject come before those that mention many. */
function weigh(address) {
  if (/^docs\/decisions\/|^CHANGELOG/.test(address)) return 0.3
  return /guides\/from-|reference\/expectations/.test(address) ? 0.5 : 1
}

export const options = {
  prefix: true,
  fuzzy: term => (term.length > 5 ? 0.2 : 0),
  combineWith: 'AND',
  boost: { title: 4, page: 2 },
  boostDocument: weigh,
}
