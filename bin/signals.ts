/** Milliseconds. Ctrl-C in `npm start` comes twice at once: from the terminal, and from npm. */
const echoTime = 500

/** Resolves with the first SIGTERM or SIGINT. Later ones end the process at once, as they do by default. */
export function untilSignal(): Promise<void> {
  return new Promise(resolve => {
    const onSignal = () => {
      resolve()
      setTimeout(ignore, echoTime).unref()
    }
    const ignore = () => process.off('SIGTERM', onSignal).off('SIGINT', onSignal)
    process.on('SIGTERM', onSignal).on('SIGINT', onSignal)
  })
}

/** Resolves with the first error that nobody has caught; it and later ones are told, and no longer end the process. */
export function untilCrash(tell: (error: unknown) => void): Promise<void> {
  return new Promise(resolve => {
    process.on('uncaughtException', error => {
      tell(error)
      resolve()
    })
  })
}
