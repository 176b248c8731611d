import type { Request } from '../../lib/http/request.ts'
import type { TemplateFile } from '../../lib/view/template-files.ts'
import type { Helper, TemplateDecorator, View, ViewModel } from '../../lib/view/view.ts'
import type { RequestSpans } from './request-spans.ts'

/** A view with a span for each render of a page, which includes its partials and the wait for its fragments. */
export class TracedView implements View {
  readonly #inner: View
  readonly #findSpans: () => RequestSpans | undefined

  constructor(inner: View, findSpans: () => RequestSpans | undefined) {
    this.#inner = inner
    this.#findSpans = findSpans
  }

  addHelper(name: string, helper: Helper): void {
    this.#inner.addHelper(name, helper)
  }

  decorateTemplates(decorate: TemplateDecorator): void {
    this.#inner.decorateTemplates(decorate)
  }

  load(): void {
    this.#inner.load()
  }

  files(): readonly TemplateFile[] {
    return this.#inner.files()
  }

  render(name: string, model: ViewModel, request?: Request): string | Promise<string> {
    const render = () => this.#inner.render(name, model, request)
    const spans = this.#findSpans()
    return spans === undefined ? render() : spans.within(`render ${name}`, {}, render)
  }
}
