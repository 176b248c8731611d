const types: ReadonlyMap<string, string> = new Map([
  ['html', 'text/html; charset=UTF-8'],
  ['txt', 'text/plain; charset=UTF-8'],
  ['md', 'text/markdown; charset=UTF-8'],
  ['css', 'text/css; charset=UTF-8'],
  ['csv', 'text/csv; charset=UTF-8'],
  ['js', 'text/javascript; charset=UTF-8'],
  ['json', 'application/json'],
  ['jsonld', 'application/ld+json'],
  ['xml', 'text/xml; charset=UTF-8'],
  ['rss', 'application/rss+xml'],
  ['atom', 'application/atom+xml'],
  ['rdf', 'application/rdf+xml'],
  ['svg', 'image/svg+xml'],
  ['ics', 'text/calendar; charset=UTF-8'],
])

/** The content type of a format, such as the `_format` of a route; HTML for one that is not known. */
export function contentTypeOf(format: string): string {
  return types.get(format) ?? 'text/html; charset=UTF-8'
}
