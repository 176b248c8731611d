/** A call of the page to its own server, as the browser tells of it when it is over. */
export interface Call {
  /** Without a fragment. */
  readonly url: string
  /** 0 when there was no response, or the browser does not say. */
  readonly status: number
  /** Milliseconds. */
  readonly duration: number
  /** Of its record; `undefined` when there is none. */
  readonly token: string | undefined
}

/** More are forgotten, the oldest first. */
const callLimit = 100

/** What browsers ask for by themselves: that it is missing is no failure of the page. */
const probePath = /^\/(?:favicon\.ico|robots\.txt|apple-touch-icon[^/]*|\.well-known\/.*)$/

/** What asks for something by itself; whatever else is loaded counts when there is a record of it. */
const callers: readonly string[] = ['fetch', 'xmlhttprequest', 'beacon']

/**
 * Learns of the calls of a page from the browser's own measurements, so that nothing of the page is patched: the
 * Server-Timing header of a response names its record.
 */
export class CallList {
  readonly #onCall: (call: Call) => void
  #calls: Call[] = []

  constructor(onCall: (call: Call) => void) {
    this.#onCall = onCall
  }

  /** The last one first. */
  get calls(): readonly Call[] {
    return this.#calls
  }

  /** Takes note of calls from now on, and of those that were made before. */
  watch(): void {
    const observer = new PerformanceObserver(list => {
      for (const entry of list.getEntries()) this.#add(entry as PerformanceResourceTiming)
    })
    observer.observe({ type: 'resource', buffered: true })
  }

  clear(): void {
    this.#calls = []
  }

  #add(entry: PerformanceResourceTiming): void {
    const url = new URL(entry.name)
    url.hash = ''
    if (url.origin !== location.origin || isOwn(url.pathname)) return
    if (entry.responseStatus === 404 && probePath.test(url.pathname)) return
    const token = tokenOf(entry)
    if (token === undefined && !callers.includes(entry.initiatorType)) return
    const call = { url: url.href, status: entry.responseStatus, duration: entry.duration, token }
    this.#calls = [call, ...this.#calls].slice(0, callLimit)
    this.#onCall(call)
  }
}

/** The record of the page itself, as its response names it; of one that was revalidated it is not the one in the page. */
export function findPageToken(): string | undefined {
  const [entry] = performance.getEntriesByType('navigation')
  return entry === undefined ? undefined : tokenOf(entry as PerformanceNavigationTiming)
}

/** Browsers tell it to pages of secure contexts, which those of this machine are. */
function tokenOf({ serverTiming = [] }: Partial<PerformanceResourceTiming>): string | undefined {
  const token = serverTiming.find(({ name }) => name === 'profile')?.description
  return token !== undefined && /^\w+$/.test(token) ? token : undefined
}

function isOwn(path: string): boolean {
  return path.startsWith('/_profiler/') || path.startsWith('/_wdt/')
}
