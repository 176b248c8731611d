const keys = {
  /** `light` or `dark`; nothing for that of the system. */
  theme: 'profiler-theme',
  /** `folded` or `open`. */
  toolbar: 'profiler-toolbar',
  /** How timelines were filtered last, as JSON. */
  timeline: 'profiler-timeline',
} as const

/** What is remembered for all pages of this origin. */
export type Memory = keyof typeof keys

/** What was remembered; `null` when nothing was, or the browser keeps nothing. */
export function recall(memory: Memory): string | null {
  try {
    return localStorage.getItem(keys[memory])
  } catch {
    return null
  }
}

/** Remembers something, where the browser allows it. */
export function remember(memory: Memory, text: string): void {
  try {
    localStorage.setItem(keys[memory], text)
  } catch {
    // A page may be forbidden to keep anything.
  }
}
