import type { Request } from '../../lib/http/request.ts'
import { ForwardingView } from '../../lib/view/traceable-view.ts'
import type { View, ViewModel } from '../../lib/view/view.ts'
import type { RequestSpans } from './request-spans.ts'

/** A view with a span for each render of a page, which includes its partials and the wait for its fragments. */
export class TracedView extends ForwardingView {
  readonly #findSpans: () => RequestSpans | undefined

  constructor(inner: View, findSpans: () => RequestSpans | undefined) {
    super(inner)
    this.#findSpans = findSpans
  }

  override render(name: string, model: ViewModel, request?: Request): string | Promise<string> {
    const render = () => super.render(name, model, request)
    const spans = this.#findSpans()
    return spans === undefined ? render() : spans.within(`render ${name}`, {}, render)
  }
}
