/** A child of an element: another element, or a text. */
export type Child = Node | string

/** Creates an element. Attributes that are `undefined` are not set. */
export function createElement<name extends keyof HTMLElementTagNameMap>(
  name: name,
  attributes: Readonly<Record<string, string | undefined>> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[name] {
  const element = document.createElement(name)
  for (const [attribute, value] of Object.entries(attributes)) {
    if (value !== undefined) element.setAttribute(attribute, value)
  }
  element.append(...children)
  return element
}

/** The target of an event, or the nearest element around it, that matches; `null` without one. */
export function closestTo<element extends Element = HTMLElement>({ target }: Event, selector: string): element | null {
  return target instanceof Element ? target.closest<element>(selector) : null
}

/** A page of the profiler, and its URL after redirects. */
export interface FetchedPage {
  readonly document: Document
  readonly url: string
}

/** Loads a page of the profiler. @throws when the response is not a success */
export async function fetchPage(url: string, init: RequestInit = {}): Promise<FetchedPage> {
  const response = await fetch(url, init)
  const html = await response.text()
  if (!response.ok) throw new Error(`The server responded with ${response.status}.`)
  return { document: new DOMParser().parseFromString(html, 'text/html'), url: response.url }
}

const keys = {
  /** `light` or `dark`; nothing for the theme of the system. */
  theme: 'profiler-theme',
  /** `folded` or `open`. */
  toolbar: 'profiler-toolbar',
  /** The name of the editor that opens places; nothing if the server opens them. */
  editor: 'profiler-editor',
  /** The recent choices of the palette, as JSON. */
  palette: 'profiler-palette',
} as const

/** A choice that is stored for all pages of this origin. */
export type Choice = keyof typeof keys

/** The stored choice; `null` without one, or when the browser forbids storage. */
export function recall(choice: Choice): string | null {
  try {
    return localStorage.getItem(keys[choice])
  } catch {
    return null
  }
}

/** Stores a choice, if the browser allows it. */
export function remember(choice: Choice, text: string): void {
  try {
    localStorage.setItem(keys[choice], text)
  } catch {
    // A page may have no access to storage.
  }
}
