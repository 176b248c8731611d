/** Below this path is all that the profiler shows. */
export const home = '/_profiler/'

/** The page of a record; any text will do as a token, and leads nowhere else. */
export function recordLink(token: string, panel?: string): string {
  return `${home}${encode(token)}${panel === undefined ? '' : `?panel=${encode(panel)}`}`
}

/** The toolbar's view of a record; the path is Symfony's. */
export function toolbarLink(token: string): string {
  return `/_wdt/${encode(token)}`
}

/** What changes a record: `pin` and `unpin`; the panel is where the way leads back to. */
export function changeLink(token: string, change: 'pin' | 'unpin', panel: string): string {
  return `${home}${encode(token)}/${change}?panel=${encode(panel)}`
}

/** The list of what a search finds. The token only says what was found first. */
export function listLink(parameters: Readonly<Record<string, string>>, token = 'empty'): string {
  return `${home}${encode(token)}/search/results?${new URLSearchParams(parameters)}`
}

function encode(text: string): string {
  return encodeURIComponent(text.toWellFormed())
}
