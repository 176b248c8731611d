/** Runs the tasks of one session one after the other, and those of different sessions at the same time. */
export class SessionTasks {
  /** The end of the last task of a session, by its id. */
  readonly #ends = new Map<string, Promise<void>>()

  /** Runs a task when the earlier tasks of the session have ended, failed ones included. */
  run<result>(id: string, task: () => Promise<result>): Promise<result> {
    const result = (this.#ends.get(id) ?? Promise.resolve()).then(task)
    const end: Promise<void> = result.then(ignore, ignore).then(() => {
      if (this.#ends.get(id) === end) this.#ends.delete(id)
    })
    this.#ends.set(id, end)
    return result
  }
}

function ignore(): void {}
