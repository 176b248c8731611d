/** Calls a synchronous function as a user without access to private folders of other users. Root has access to all. */
export function asOtherUser<result>(work: () => result): result {
  const own = Number(process.geteuid?.())
  process.seteuid?.(own || 65_534)
  try {
    return work()
  } finally {
    process.seteuid?.(own)
  }
}
