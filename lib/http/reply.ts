/** The sending side of a request, such as a response of node. It is closed after the response, or when the client leaves. */
export interface Reply {
  /** Whether the whole response was sent. */
  readonly writableFinished: boolean
  readonly destroyed: boolean
  /** Whether the head of the response is sent. */
  readonly headersSent?: boolean
  once(event: 'close', listener: () => void): unknown
  /** Sends a response 103; absent where that is not possible. */
  writeEarlyHints?(hints: { readonly link: string[] }): unknown
}

/** Creates a signal that is aborted when the client leaves before the whole response was sent; without a reply it never is. */
export function createSignal(reply: Reply | undefined): AbortSignal {
  const controller = new AbortController()
  const onClose = () => {
    if (reply?.writableFinished === false) controller.abort()
  }
  if (reply?.destroyed) onClose()
  else reply?.once('close', onClose)
  return controller.signal
}
