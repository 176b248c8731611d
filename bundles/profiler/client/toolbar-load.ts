/** Milliseconds before each retry: a restart of the server takes a few seconds. */
const retryDelays: readonly number[] = [300, 600, 1200, 2400, 4800, 9600, 9600, 9600]

/** Retries after a 404: a profile that is still unknown then was not stored. */
const unknownRetries = 2

/**
 * Loads the toolbar of a profile, with retries while the server does not respond. Gives `undefined` when all retries fail,
 * or when `isWanted` becomes false.
 */
export async function loadToolbar(path: string, isWanted: () => boolean): Promise<HTMLElement | undefined> {
  for (let attempt = 0; isWanted(); attempt++) {
    const { body, status } = await loadDocument(path)
    if (body !== undefined) return body
    const delay = retryDelays[attempt]
    if (delay === undefined || (status === 404 && attempt >= unknownRetries)) return undefined
    await new Promise(resolve => setTimeout(resolve, delay))
  }
  return undefined
}

interface Loaded {
  /** 0 without a response. */
  readonly status: number
  readonly body: HTMLElement | undefined
}

/**
 * Uses XMLHttpRequest because it parses the response to a document: a page that requires Trusted Types forbids
 * `innerHTML`, and may forbid a policy of the profiler.
 */
function loadDocument(path: string): Promise<Loaded> {
  return new Promise(resolve => {
    const request = new XMLHttpRequest()
    request.open('GET', path)
    request.responseType = 'document'
    request.timeout = 10_000
    request.addEventListener('loadend', () => {
      const { responseXML, status } = request
      const toolbar = status === 200 && responseXML?.querySelector<HTMLElement>('.toolbar')
      resolve({ status, body: toolbar ? document.importNode(toolbar, true) : undefined })
    })
    request.send()
  })
}

/** Loads the stylesheet, with all lengths in pixels: the application may have changed the size of `1rem`. */
export async function loadStyles(path: string): Promise<CSSStyleSheet> {
  const response = await fetch(path)
  const text = await response.text()
  const sheet = new CSSStyleSheet()
  await sheet.replace(text.replace(/([\d.]+)rem\b/g, (_, size) => `${Number(size) * 16}px`))
  return sheet
}
