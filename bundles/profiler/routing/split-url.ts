/** The parts of the URL of a request. */
export interface UrlParts {
  readonly scheme: 'http' | 'https'
  /** With its port; `undefined` of a request without a host. */
  readonly host: string | undefined
  /** As it stands in the request line: `/path?query`. */
  readonly target: string
}

/** Takes a recorded URL apart, as it is: nothing is decoded or resolved. `undefined` when it is none. */
export function splitUrl(url: string): UrlParts | undefined {
  const [, scheme, host, target] = /^(?:(https?):\/\/([\w.:[\]-]+))?([/*].*)$/s.exec(url) ?? []
  return target === undefined ? undefined : { scheme: scheme === 'https' ? 'https' : 'http', host, target }
}
