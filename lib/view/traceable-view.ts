import type { Request } from '../http/request.ts'
import type { HelperCheck } from './check-templates.ts'
import { noteTemplate } from './failed-place.ts'
import type { Global } from './globals.ts'
import type { TemplateFile } from './template-files.ts'
import type { Helper, TemplateDecorator, View, ViewModel } from './view.ts'

/** Records renders. The request is present if it was passed to the view. */
export interface RenderTracer {
  /**
   * Called before a page or partial; `globals` are the names of globals that the page uses.
   * Returns the function for its end, or undefined if the end is not recorded.
   */
  begin(
    name: string,
    model: unknown,
    request: Request | undefined,
    globals: readonly string[] | undefined,
  ): ((hasFailed: boolean) => void) | undefined
  /** Called when a page begins to wait for its fragments. Returns the function for the end of the wait. */
  beginWait(request: Request | undefined): () => void
}

/** Wraps a view so that a tracer records every page and partial. */
export function createTraceableView(view: View, tracer: RenderTracer): View {
  view.decorateTemplates(traceTemplates(tracer))
  return new TraceableView(view, tracer)
}

function traceTemplates(tracer: RenderTracer): TemplateDecorator {
  return (name, template) => (model, options) => {
    const end = tracer.begin(name, model, options?.data?.request, options?.data?.globals)
    if (end === undefined) return template(model, options)
    let text: string
    try {
      text = template(model, options)
    } catch (error) {
      noteTemplate(error, name)
      end(true)
      throw error
    }
    end(false)
    return text
  }
}

/** A view that passes all calls on to another view. A subclass adds what it needs. */
export class ForwardingView implements View {
  readonly #inner: View

  constructor(inner: View) {
    this.#inner = inner
  }

  addHelper(name: string, helper: Helper, check?: HelperCheck): void {
    this.#inner.addHelper(name, helper, check)
  }

  addGlobal(name: string, value: Global): void {
    this.#inner.addGlobal(name, value)
  }

  globals(): readonly string[] {
    return this.#inner.globals()
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
    return this.#inner.render(name, model, request)
  }
}

/** Records how long pages wait for fragments. The decorated templates record everything else. */
class TraceableView extends ForwardingView {
  readonly #tracer: RenderTracer

  constructor(inner: View, tracer: RenderTracer) {
    super(inner)
    this.#tracer = tracer
  }

  override render(name: string, model: ViewModel, request?: Request): string | Promise<string> {
    const page = super.render(name, model, request)
    return typeof page === 'string' ? page : page.finally(this.#tracer.beginWait(request))
  }
}
