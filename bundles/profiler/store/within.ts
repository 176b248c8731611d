/** Waits for a promise, but not longer than this; `undefined` when it was not in time. */
export async function within<result>(milliseconds: number, promise: Promise<result>): Promise<result | undefined> {
  let timer: NodeJS.Timeout | undefined
  const tooLate = new Promise<undefined>(resolve => {
    timer = setTimeout(resolve, milliseconds, undefined)
  })
  try {
    return await Promise.race([promise, tooLate])
  } finally {
    clearTimeout(timer)
  }
}
