/**
 * Paths that browsers request by themselves: a 404 for them is no failure of the application. The
 * server and the toolbar share this pattern.
 */
export const probePath: RegExp = /^\/(?:favicon\.ico|apple-touch-icon[^/]*|\.well-known\/.*)$/
