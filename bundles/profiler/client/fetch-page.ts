/** Another page of the profiler, and where it came from in the end. */
export interface FetchedPage {
  readonly document: Document
  readonly address: string
}

/** Loads a page of the profiler, to take a part of it. @throws when there is none */
export async function fetchPage(address: string, init: RequestInit = {}): Promise<FetchedPage> {
  const response = await fetch(address, init)
  const html = await response.text()
  if (!response.ok) throw new Error(`The server has answered with ${response.status}.`)
  return { document: new DOMParser().parseFromString(html, 'text/html'), address: response.url }
}
