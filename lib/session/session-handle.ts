/** Placeholder for the contract. */
export interface SessionHandle {
  readonly isStarted: boolean
}
