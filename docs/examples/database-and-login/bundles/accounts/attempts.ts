import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { HttpError, type Request } from 'sinfonietta'

/** Limits what can be tried with an account. Each process counts for itself. */
export class Attempts {
  readonly #limiter = new RateLimiterMemory({ points: 10, duration: 15 * 60 })

  /** Counts an attempt of a client for an account. @throws HttpError (429) after ten in 15 minutes for one of them */
  async count(request: Request, email: string): Promise<void> {
    try {
      await Promise.all(keysOf(request, email).map(key => this.#limiter.consume(key)))
    } catch (result) {
      if (!(result instanceof RateLimiterRes)) throw result
      const headers = { 'retry-after': String(Math.ceil(result.msBeforeNext / 1000)) }
      throw new HttpError(429, 'Too many attempts. Please wait some minutes.', { headers })
    }
  }

  /** Forgets the attempts for an account after the right password; of the client, which may try others, only this one. */
  async forget(request: Request, email: string): Promise<void> {
    const [client, account] = keysOf(request, email)
    await Promise.all([this.#limiter.reward(client, 1), this.#limiter.delete(account)])
  }
}

/** A client may send any text as an address, also the IP address of another client. */
function keysOf({ clientIp }: Request, email: string): [client: string, account: string] {
  return [`client ${clientIp}`, `account ${email.toLowerCase().slice(0, 200)}`]
}
