/** Milliseconds before the next attempt; a server that restarts is back within a few seconds. */
const delays: readonly number[] = [300, 600, 1200, 2400, 4800, 9600, 9600, 9600]

/** A record that is not known after that was not kept. */
const patienceForUnknown = 2

/**
 * Loads the toolbar of a record, again and again while the server does not answer; `undefined` when it does not come, or
 * is no longer wanted.
 */
export async function loadToolbar(path: string, isWanted: () => boolean): Promise<HTMLElement | undefined> {
  for (let attempt = 0; isWanted(); attempt++) {
    const { body, status } = await loadDocument(path)
    if (body !== undefined) return body
    const delay = delays[attempt]
    if (delay === undefined || (status === 404 && attempt >= patienceForUnknown)) return undefined
    await new Promise(resolve => setTimeout(resolve, delay))
  }
  return undefined
}

interface Loaded {
  /** 0 without an answer. */
  readonly status: number
  readonly body: HTMLElement | undefined
}

/**
 * By XMLHttpRequest, because it gives a document: `innerHTML` and the like are forbidden where a page requires Trusted
 * Types, and its policy may not allow one of ours.
 */
function loadDocument(path: string): Promise<Loaded> {
  return new Promise(resolve => {
    const request = new XMLHttpRequest()
    request.open('GET', path)
    request.responseType = 'document'
    request.timeout = 10_000
    request.addEventListener('loadend', () => {
      const { response, status } = request
      const toolbar = status === 200 && response instanceof Document ? response.querySelector('.toolbar') : null
      resolve({ status, body: toolbar instanceof HTMLElement ? document.importNode(toolbar, true) : undefined })
    })
    request.send()
  })
}

/** Loads the stylesheet; its lengths are those of a page whose text has the size that browsers give it. */
export async function loadStyles(path: string): Promise<CSSStyleSheet> {
  const response = await fetch(path)
  const text = await response.text()
  const sheet = new CSSStyleSheet()
  // What "rem" means within the application's page is for the application to say.
  await sheet.replace(text.replace(/([\d.]+)rem\b/g, (_, size) => `${Number(size) * 16}px`))
  return sheet
}
