import { roundTime } from '../profile/format.ts'

/** One call of a template. Times are in milliseconds, its start from that of the trace. */
export interface TemplateRender {
  readonly name: string
  /** The place in the list of the render that this is a partial of; -1 of a page. */
  readonly parent: number
  readonly start: number
  /** With its partials. */
  duration: number
  /** Of a page: the names in its model, at most 20. */
  readonly keys?: readonly string[]
  /** Whether it threw, or a partial within it. */
  hasFailed?: true
}

const renderLimit = 1000
const keyLimit = 20

/** The templates that were rendered for one trace, each after the one that called it. */
export class RenderTrace {
  readonly renders: TemplateRender[] = []
  /** How many were rendered and not noted: there were more than 1,000. */
  omitted = 0
  /** Milliseconds that pages have waited for their fragments. */
  waited = 0
  /** Rendering is synchronous: what begins now is a partial of what has not ended. */
  #current = -1

  /** Takes note of a template that begins; `undefined` when there are too many. */
  begin(name: string, model: unknown, time: number): TemplateRender | undefined {
    const { length } = this.renders
    if (length === renderLimit) {
      this.omitted++
      return undefined
    }
    const parent = this.#current
    const start = roundTime(time)
    const render: TemplateRender =
      parent === -1 ? { name, parent, start, duration: 0, keys: keysOf(model) } : { name, parent, start, duration: 0 }
    this.renders.push(render)
    this.#current = length
    return render
  }

  end(render: TemplateRender, time: number): void {
    render.duration = roundTime(time - render.start)
    this.#current = render.parent
  }
}

function keysOf(model: unknown): string[] {
  return typeof model === 'object' && model !== null ? Object.keys(model).slice(0, keyLimit) : []
}
