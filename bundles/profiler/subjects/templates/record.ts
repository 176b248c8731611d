import { readClock } from '../../../../lib/own-globals.ts'
import { maskAndCut } from '../../../../lib/redact/masking-copier.ts'
import type { Redactor } from '../../../../lib/redact/redactor.ts'
import { createTraceableView, type RenderTracer } from '../../../../lib/view/traceable-view.ts'
import { roundTime } from '../../profile/format.ts'
import type { CollectorOf } from '../../record/collect.ts'
import type { RecordedSubject } from '../../record/recorded-subject.ts'
import { type FindTrace, TracePart } from '../../record/trace.ts'

/** The renders of templates. */
export const templatesSubject: RecordedSubject = {
  traceView: (view, findTrace) => createTraceableView(view, createRenderTracer(findTrace)),
  createCollectors: ({ redactor }) => [createTemplatesCollector(redactor)],
}

const keyLength = 100

/** Collects the renders of templates. */
export function createTemplatesCollector(redactor: Redactor): CollectorOf<'templates'> {
  const mask = (key: string) => maskAndCut(key, keyLength, redactor)
  return {
    name: 'templates',
    collectsLate: true,
    collect(trace) {
      const renders = renderPart.find(trace)
      if (renders === undefined) return undefined
      return {
        renders: renders.renders.map(render =>
          render.keys === undefined ? render : { ...render, keys: render.keys.map(mask) },
        ),
        omitted: renders.omitted,
        waited: roundTime(renders.waited),
      }
    },
    hasWorked: (trace, since) => (renderPart.find(trace)?.renders.at(-1)?.start ?? since) > since,
    measure(traces) {
      let time = 0
      for (const trace of traces) {
        for (const { duration, parent } of renderPart.find(trace)?.renders ?? []) if (parent === -1) time += duration
      }
      return time > 0 ? [['tpl', 'Templates', time]] : []
    },
  }
}

/** One render of a template. Times are in milliseconds since the request began. */
interface TemplateRender {
  readonly name: string
  /** The index of the render that this is a partial of; -1 for a page. */
  readonly parent: number
  readonly start: number
  /** Includes its partials. */
  duration: number
  /** For a page: the names in its model, at most 20, then the globals that it uses, with an `@`. */
  readonly keys?: readonly string[]
  /** Whether it threw, or one of its partials. */
  hasFailed?: true
}

const renderLimit = 1000

const keyLimit = 20

/** The renders of one request, each after its parent. */
class RenderTrace {
  readonly renders: TemplateRender[] = []
  /** How many renders after the first 1,000 were not recorded. */
  omitted = 0
  /** Milliseconds of the renders of pages. */
  rendered = 0
  /** Milliseconds that pages waited for sub-requests and globals. */
  waited = 0
  /** The render that has not ended. Rendering is synchronous: the next render is its partial. */
  #current = -1

  /** Records the start of a render; `undefined` when there are too many. */
  begin(name: string, model: unknown, globals: readonly string[], time: number): TemplateRender | undefined {
    const { length } = this.renders
    if (length === renderLimit) {
      this.omitted++
      return undefined
    }
    const parent = this.#current
    const start = roundTime(time)
    const render: TemplateRender =
      parent === -1
        ? { name, parent, start, duration: 0, keys: [...keysOf(model), ...globals.map(global => `@${global}`)] }
        : { name, parent, start, duration: 0 }
    this.renders.push(render)
    this.#current = length
    return render
  }

  end(render: TemplateRender, time: number): void {
    render.duration = roundTime(time - render.start)
    this.#current = render.parent
    if (render.parent === -1) this.rendered += render.duration
  }
}

/** The renders of a trace. */
export const renderPart: TracePart<RenderTrace> = new TracePart(() => new RenderTrace())

function keysOf(model: unknown): string[] {
  return typeof model === 'object' && model !== null ? Object.keys(model).slice(0, keyLimit) : []
}

/** Creates the tracer that records every page and partial on its trace. */
export function createRenderTracer(findTrace: FindTrace): RenderTracer {
  return {
    begin(name, model, request, globals = []) {
      // The profiler's parts of an error page are not work of the request.
      const trace = name.startsWith('profiler/') ? undefined : findTrace(request)
      if (trace === undefined) return undefined
      const renders = renderPart.of(trace)
      const render = renders.begin(name, model, globals, trace.elapsed())
      if (render === undefined) return undefined
      return hasFailed => {
        if (hasFailed) render.hasFailed = true
        renders.end(render, trace.elapsed())
        if (!hasFailed) trace.touch()
      }
    },
    beginWait(request) {
      const trace = findTrace(request)
      const begin = readClock()
      const find = () => trace && renderPart.find(trace)
      const before = find()?.rendered ?? 0
      return () => {
        // A page with a global that is a promise is rendered during the wait.
        const renders = find()
        if (renders !== undefined) renders.waited += readClock() - begin - (renders.rendered - before)
      }
    },
  }
}
