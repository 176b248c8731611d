/*
 * Reports the errors of the page to its profile. It runs before the scripts of the page, so it is a
 * classic script without imports, and defines no global name: the toolbar finds its errors under a symbol.
 */
{
  type PageErrors = import('./toolbar-bar.ts').PageErrors
  type PageError = import('./toolbar-bar.ts').PageError

  /** An error in the form that is sent to the server. */
  interface Report extends PageError {
    readonly column?: number | undefined
    readonly stack?: string | undefined
    readonly at: number
  }

  const reportLimit = 20
  const lengths = { message: 1000, stack: 2500 } as const

  /** Milliseconds: errors often come in groups. */
  const delay = 200

  const key = Symbol.for('profiler.page-errors')
  const holder = window as { [key]?: PageErrors }
  const script = document.currentScript
  const path = script?.dataset.profilerErrors

  const start = (path: string): void => {
    const errors: PageErrors = { list: [] }
    holder[key] = errors
    let waiting: Report[] = []

    const send = (): void => {
      if (waiting.length === 0) return
      const body = JSON.stringify({ errors: waiting })
      waiting = []
      navigator.sendBeacon(findPath(path), new Blob([body], { type: 'application/json' }))
    }

    const report = (kind: PageError['kind'], message: string, more: Partial<Report> = {}): void => {
      // An error that repeats endlessly is not sent endlessly.
      if (errors.list.length === reportLimit) return
      const { stack, ...place } = more
      const error = { kind, message: message.slice(0, lengths.message), ...place, at: performance.now() }
      errors.list.push(error)
      if (waiting.length === 0) setTimeout(send, delay)
      waiting.push(stack === undefined ? error : { ...error, stack: cutStack(stack) })
      errors.onError?.()
    }

    addEventListener(
      'error',
      (event: Event) => {
        if (event instanceof ErrorEvent) reportException(event)
        else if (event.target instanceof Element) reportResource(event.target)
      },
      // Failed files are reported to their element only.
      true,
    )

    const reportException = ({ colno, error, filename, lineno, message }: ErrorEvent): void => {
      const place = filename === '' ? {} : { file: filename, line: lineno, column: colno }
      report('exception', message.replace(/^Uncaught (?:exception: )?/, ''), { ...place, ...stackOf(error) })
    }

    const reportResource = (element: Element): void => {
      const address = element.getAttribute('src') ?? element.getAttribute('href')
      if (address === null) return
      const { href } = new URL(address, document.baseURI)
      report('resource', `<${element.localName}> ${href.replace(`${location.origin}/`, '/')}`)
    }

    addEventListener('unhandledrejection', ({ reason }) => report('rejection', describe(reason), stackOf(reason)))

    addEventListener('securitypolicyviolation', event => {
      const { blockedURI, columnNumber, effectiveDirective, lineNumber, sourceFile } = event
      const place = sourceFile ? { file: sourceFile, line: lineNumber, column: columnNumber } : {}
      report('policy', `${effectiveDirective} does not allow ${blockedURI}`, place)
    })

    const { console } = window
    const { error: print } = console
    let isReporting = false
    console.error = function error(...values: unknown[]) {
      print.apply(console, values)
      // A value may print while it is described.
      if (isReporting) return
      isReporting = true
      try {
        const thrown = values.find(value => value instanceof Error)
        report('console', format(values), stackOf(thrown ?? new Error()))
      } catch {
        // A value cannot be written as text: the error is not reported.
      }
      isReporting = false
    }

    addEventListener('pagehide', send)
  }

  /** After a 304, the profile of the page is not the one in its HTML. */
  const findPath = (path: string): string => {
    const [entry] = performance.getEntriesByType('navigation') as Partial<PerformanceNavigationTiming>[]
    const token = entry?.serverTiming?.find(({ name }) => name === 'profile')?.description
    return token !== undefined && /^\w+$/.test(token) ? path.replace(/\w+(?=\/[^/]+$)/, token) : path
  }

  const stackOf = (value: unknown): { readonly stack?: string } => {
    if (!(value instanceof Error) || typeof value.stack !== 'string') return {}
    const header = `${value.name}: ${value.message}`
    return { stack: value.stack.startsWith(header) ? value.stack.slice(header.length) : value.stack }
  }

  /** Removes the calls of this script from a stack. */
  const cutStack = (stack: string): string =>
    stack
      .split('\n')
      .filter(line => line.trim() !== '' && line.trim() !== 'Error' && !line.includes('/browser-errors.js'))
      .join('\n')
      .slice(0, lengths.stack)

  const describe = (value: unknown): string => {
    if (value instanceof Error) return `${value.name}: ${value.message}`
    return (typeof value === 'object' && toJson(value)) || String(value)
  }

  const toJson = (value: unknown): string | undefined => {
    try {
      return JSON.stringify(value)
    } catch {
      // The value contains itself, so it cannot be written as JSON.
      return undefined
    }
  }

  /** Fills the placeholders of a text, as the console does. */
  const format = ([first, ...rest]: readonly unknown[]): string => {
    if (typeof first !== 'string') return [first, ...rest].map(describe).join(' ')
    const text = first.replace(/%[sdifoOc%]/g, placeholder => {
      if (placeholder === '%%') return '%'
      if (rest.length === 0) return placeholder
      const value = describe(rest.shift())
      return placeholder === '%c' ? '' : value
    })
    return [text, ...rest.map(describe)].join(' ')
  }

  // A part of the page may load the script once more.
  if (path !== undefined && holder[key] === undefined) start(path)
}
