/**
 * Paths that browsers and crawlers request by themselves: a 404 for them is no failure of the application. The server and
 * the toolbar share this pattern.
 */
export const probePath: RegExp = /^\/(?:favicon\.ico|robots\.txt|sitemap\.xml|apple-touch-icon[^/]*|\.well-known\/.*)$/
