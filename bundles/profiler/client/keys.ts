/** A part of the pages: the keys of a part work beside those of the parts around it. */
export type PagePart = keyof typeof partsAround

/** The part around each part; `undefined` for what is on every page. */
export const partsAround = {
  page: undefined,
  list: 'page',
  profile: 'page',
  timeline: 'profile',
  'flame graph': 'profile',
  palette: undefined,
} as const

/** A key of the profiler's pages, and its purpose. */
export interface Shortcut {
  /** As in `KeyboardEvent.key`; `Mod+` stands for Ctrl, or for Command on a Mac. */
  readonly key: string
  readonly label: string
  readonly part: PagePart
  /**
   * Without it, the key clicks the element with this key in `data-key`, or focuses it if it is a text field. With it, a
   * script handles the key where this selector finds an element.
   */
  readonly selector?: string
}

/** All shortcuts of all pages, in the order in which the help lists them. */
export const shortcuts: readonly Shortcut[] = [
  { key: 'Mod+k', label: 'Search everything', part: 'page' },
  { key: '/', label: 'Filter', part: 'page' },
  { key: 'c', label: 'Copy', part: 'page' },
  { key: 'e', label: 'Open the first place in the editor', part: 'page' },
  { key: 'j', label: 'Next profile', part: 'list', selector: '#results tr' },
  { key: 'k', label: 'Previous profile', part: 'list', selector: '#results tr' },
  { key: 'Enter', label: 'Open the profile', part: 'list', selector: '#results tr' },
  { key: '[', label: 'Previous profile', part: 'profile' },
  { key: ']', label: 'Next profile', part: 'profile' },
  { key: 'l', label: 'Latest profile', part: 'profile' },
  { key: 'p', label: 'Pin or unpin', part: 'profile' },
  { key: 'r', label: 'Replay', part: 'profile' },
  { key: 'd', label: 'Compare with previous', part: 'profile' },
  { key: '↑ ↓', label: 'Move between rows', part: 'timeline', selector: '#timeline .lines' },
  { key: '+ - 0', label: 'Zoom in, zoom out, whole request', part: 'timeline', selector: '#timeline .chart' },
  { key: '← →', label: 'Move the zoomed part', part: 'timeline', selector: '#timeline .chart' },
  { key: '← ↑ → ↓', label: 'Move between frames', part: 'flame graph', selector: 'svg.flame' },
  { key: '↑ ↓', label: 'Search: move between results', part: 'palette', selector: '[data-palette]' },
  { key: 'Mod+Enter', label: 'Search: open in a new tab', part: 'palette', selector: '[data-palette]' },
  { key: '?', label: 'Keyboard shortcuts', part: 'page', selector: 'body' },
  { key: 'Escape', label: 'Close', part: 'page', selector: 'body' },
]
