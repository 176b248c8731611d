import type { Request } from '../../../lib/http/request.ts'
import type { RenderTracer } from '../../../lib/view/traceable-view.ts'
import type { Pass } from './pass.ts'
import { RenderTrace } from './render-trace.ts'

/** Finds the pass that a page is rendered for, by its request when that was passed on. */
export type FindPass = (request?: Request) => Pass | undefined

/** Creates what takes note of every page and partial on the pass that it is rendered for. */
export function createRenderTracer(findPass: FindPass): RenderTracer {
  return {
    begin(name, model, request) {
      // What the profiler shows of a request, on an error page, is not the request's own work.
      const pass = name.startsWith('profiler/') ? undefined : findPass(request)
      if (pass === undefined) return undefined
      pass.renders ??= new RenderTrace()
      const { renders } = pass
      const render = renders.begin(name, model, pass.elapsed())
      if (render === undefined) return undefined
      return hasFailed => {
        if (hasFailed) render.hasFailed = true
        renders.end(render, pass.elapsed())
        if (!hasFailed) pass.touch()
      }
    },
    beginWait(request) {
      const pass = findPass(request)
      const begin = performance.now()
      return () => {
        if (pass?.renders !== undefined) pass.renders.waited += performance.now() - begin
      }
    },
  }
}
