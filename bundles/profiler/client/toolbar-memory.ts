const key = 'profiler-toolbar'

/** Whether the bar was folded; unless somebody has decided, it is open for people and folded for programs that click. */
export function readIsFolded(): boolean {
  const stored = read(key)
  return stored === null ? navigator.webdriver : stored === 'folded'
}

/** Remembers it for all pages of this origin. */
export function writeIsFolded(isFolded: boolean): void {
  try {
    localStorage.setItem(key, isFolded ? 'folded' : 'open')
  } catch {
    // A page may be forbidden to keep anything.
  }
}

/** The theme that was chosen on the profiler's pages; `undefined` for that of the system. */
export function readTheme(): string | undefined {
  return read('profiler-theme') ?? undefined
}

function read(key: string): string | null {
  try {
    return localStorage.getItem(key)
  } catch {
    return null
  }
}
