import { roundTime } from '../profile/format.ts'

/** One render of a template. Times are in milliseconds since the request began. */
export interface TemplateRender {
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
export class RenderTrace {
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

function keysOf(model: unknown): string[] {
  return typeof model === 'object' && model !== null ? Object.keys(model).slice(0, keyLimit) : []
}
