import type { Request } from '../http/request.ts'
import type { Helper, TemplateDecorator, View, ViewModel } from './view.ts'

/** Takes note of what is rendered. The request is told when it was passed on to the view. */
export interface RenderTracer {
  /** A page or a partial begins; gives what is to be told of its end, or nothing when that is of no interest. */
  begin(name: string, model: unknown, request: Request | undefined): ((hasFailed: boolean) => void) | undefined
  /** A page begins to wait for its fragments; gives what is to be told when it need not any more. */
  beginWait(request: Request | undefined): () => void
}

/** Decorates a view so that a tracer follows every page and partial. */
export function createTraceableView(view: View, tracer: RenderTracer): View {
  view.decorateTemplates(traceTemplates(tracer))
  return new TraceableView(view, tracer)
}

function traceTemplates(tracer: RenderTracer): TemplateDecorator {
  return (name, template) => (model, options) => {
    const end = tracer.begin(name, model, options?.data?.request)
    if (end === undefined) return template(model, options)
    let text: string
    try {
      text = template(model, options)
    } catch (error) {
      end(true)
      throw error
    }
    end(false)
    return text
  }
}

/** Tells how long pages wait for fragments; all else is told by the templates themselves. */
class TraceableView implements View {
  readonly #inner: View
  readonly #tracer: RenderTracer

  constructor(inner: View, tracer: RenderTracer) {
    this.#inner = inner
    this.#tracer = tracer
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

  names(): Iterable<string> {
    return this.#inner.names()
  }

  render(name: string, model: ViewModel, request?: Request): string | Promise<string> {
    const page = this.#inner.render(name, model, request)
    return typeof page === 'string' ? page : page.finally(this.#tracer.beginWait(request))
  }
}
