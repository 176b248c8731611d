import type { Request } from '../../../lib/http/request.ts'
import {
  createView,
  type Helper,
  type TemplateDecorator,
  type View,
  type ViewModel,
  type ViewOptions,
} from '../../../lib/view/view.ts'
import type { Pass } from './pass.ts'
import { RenderTrace } from './render-trace.ts'

/** Finds the pass that a page is rendered for, by its request when that was passed on. */
export type FindPass = (request?: Request) => Pass | undefined

/** Creates a view that takes note of every page and partial on the pass that it is rendered for. */
export function createTraceableView(directory: string, findPass: FindPass, options: ViewOptions = {}): View {
  return new TraceableView(createView(directory, { ...options, decorate: traceTemplates(findPass) }), findPass)
}

function traceTemplates(findPass: FindPass): TemplateDecorator {
  const trace: TemplateDecorator = (name, template) => (model, options) => {
    const pass = findPass(options?.data?.request)
    if (pass === undefined) return template(model, options)
    pass.renders ??= new RenderTrace()
    const { renders } = pass
    const render = renders.begin(name, model, pass.elapsed())
    if (render === undefined) return template(model, options)
    let text: string
    try {
      text = template(model, options)
    } catch (error) {
      render.hasFailed = true
      renders.end(render, pass.elapsed())
      throw error
    }
    renders.end(render, pass.elapsed())
    pass.touch()
    return text
  }
  // What the profiler shows of a request, on an error page, is not the request's own work.
  return (name, template) => (name.startsWith('profiler/') ? template : trace(name, template))
}

/** Measures how long pages wait for fragments; all else is done by the templates themselves. */
class TraceableView implements View {
  readonly #inner: View
  readonly #findPass: FindPass

  constructor(inner: View, findPass: FindPass) {
    this.#inner = inner
    this.#findPass = findPass
  }

  addHelper(name: string, helper: Helper): void {
    this.#inner.addHelper(name, helper)
  }

  load(): void {
    this.#inner.load()
  }

  names(): Iterable<string> {
    return this.#inner.names()
  }

  render(name: string, model: ViewModel, request?: Request): string | Promise<string> {
    const page = this.#inner.render(name, model, request)
    return typeof page === 'string' ? page : this.#wait(page, this.#findPass(request))
  }

  async #wait(page: Promise<string>, pass: Pass | undefined): Promise<string> {
    const begin = performance.now()
    try {
      return await page
    } finally {
      if (pass?.renders !== undefined) pass.renders.waited += performance.now() - begin
    }
  }
}
