import { RateLimiterMemory, RateLimiterRes } from 'rate-limiter-flexible'
import { HttpError, type Request } from 'sinfonietta'

/** Limits what can be tried with an account. Each process counts for itself. */
export class Attempts {
  readonly #limiter = new RateLimiterMemory({ points: 10, duration: 15 * 60 })

  /** Counts an attempt of a client for an account. @throws HttpError (429) after ten in 15 minutes for one of them */
  async count({ clientIp }: Request, email: string): Promise<void> {
    try {
      await Promise.all([this.#limiter.consume(clientIp), this.#limiter.consume(email.toLowerCase())])
    } catch (result) {
      if (!(result instanceof RateLimiterRes)) throw result
      const headers = { 'retry-after': String(Math.ceil(result.msBeforeNext / 1000)) }
      throw new HttpError(429, 'Too many attempts. Please wait some minutes.', { headers })
    }
  }

  /** Forgets the attempts after the right password. */
  async forget({ clientIp }: Request, email: string): Promise<void> {
    await Promise.all([this.#limiter.delete(clientIp), this.#limiter.delete(email.toLowerCase())])
  }
}
