import { errorChain, type FlatError } from '../../lib/errors/flat-error.ts'
import type { Request } from '../../lib/http/request.ts'
import type { Route } from '../../lib/routing/route.ts'
import type { DeclarationSite, Declarations } from '../../lib/stack/declaration-sites.ts'
import { locateFrame, resolveLocated, type StackFrame } from '../../lib/stack/stack-frames.ts'
import { createDeclarations, nameOfController } from '../controller.ts'

/** The guards that have failed, by their requests. */
const failedGuards = new WeakMap<Request, { readonly name: string }>()

/** Notes that a guard has failed: the error is of its code, not of the controller. */
export function noteFailedGuard(request: Request, guard: { readonly name: string }): void {
  failedGuards.set(request, guard)
}

/** Finds the code of the application that a request runs, and the frames of it that errors name. */
export class ThrownFrames {
  readonly #directory: string
  readonly #routes: Iterable<Route>
  readonly #declarations: Declarations

  constructor(app: Parameters<typeof createDeclarations>[0]) {
    this.#directory = app.directory
    this.#routes = app.routes
    this.#declarations = createDeclarations(app)
  }

  /** The definition of the controller of a request, or else the declaration of its route. */
  findDefinition({ attributes }: Request): DeclarationSite | undefined {
    const name = attributes.get('_route')
    const findRoute = () => [...this.#routes].find(route => route.name === name)
    return this.#declarations.find(attributes.get('_controller')) ?? this.#declarations.find(findRoute())
  }

  /**
   * The error of a controller or guard without a frame of the application gets its definition as the first frame:
   * something that is not an error was thrown, or the result is no response. A mistake of the client stays as it is.
   */
  locate(error: FlatError, request: Request): FlatError {
    if ((error.status ?? 500) < 500 || errorChain(error).some(({ frames }) => frames.some(this.#isOwn))) return error
    const guard = failedGuards.get(request)
    const site = this.#declarations.find(guard) ?? this.findDefinition(request)
    if (site === undefined) return error
    const file = resolveLocated(site.file, this.#directory)
    const { attributes } = request
    const name = `controller ${nameOfController(attributes.get('_controller'), attributes.get('_route'))}`
    const frame = { ...site, file, function: guard === undefined ? name : `guard ${guard.name}`, isAsync: false }
    return this.#isOwn(frame) ? { ...error, frames: [frame, ...error.frames] } : error
  }

  /**
   * The innermost frame of the application: of the error, of those that it gathers, or of its
   * causes. Without one, its first frame.
   */
  find(error: FlatError, request: Request): StackFrame | undefined {
    const located = this.locate(error, request)
    return (
      errorChain(located)
        .flatMap(({ frames }) => frames)
        .find(this.#isOwn) ?? located.frames[0]
    )
  }

  readonly #isOwn = (frame: StackFrame): boolean => locateFrame(frame, this.#directory).origin === 'application'
}
