import { RequestContext } from '../../kernel/request-context.ts'
import type { Request } from '../../lib/http/request.ts'
import type { RequestSpans } from './request-spans.ts'

/** A request context whose work also runs in the OpenTelemetry context of its request. */
export class TracedContext extends RequestContext {
  readonly #inner: RequestContext
  readonly #findSpans: () => RequestSpans | undefined

  /** `findSpans` gives `undefined` until the packages of OpenTelemetry are loaded. */
  constructor(inner: RequestContext, findSpans: () => RequestSpans | undefined) {
    super()
    this.#inner = inner
    this.#findSpans = findSpans
  }

  override enable(): void {
    this.#inner.enable()
  }

  override get current(): Request | undefined {
    return this.#inner.current
  }

  override run<result>(request: Request, task: () => result): result
  override run<value, result>(request: Request, task: (value: value) => result, value: value): result
  override run<value, result>(request: Request, task: (value?: value) => result, value?: value): result {
    const work = () => this.#inner.run(request, task, value)
    const spans = this.#findSpans()
    return spans === undefined ? work() : spans.run(request, work)
  }

  override carry(...parameters: Parameters<RequestContext['carry']>): () => void {
    return this.#inner.carry(...parameters)
  }

  override leave(): void {
    this.#inner.leave()
  }
}
