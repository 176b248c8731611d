import {
  type Application,
  type CheckedForm,
  createFileResponse,
  HttpError,
  type Request,
  Response,
  UploadedFile,
} from 'sinfonietta'
import * as v from 'valibot'
import { isPhoto, type Photos } from './photos.ts'
import type { Tool, Tools } from './tools.ts'

/** The form of a new tool. */
export const newTool = v.objectAsync({
  name: v.pipe(v.string(), v.trim(), v.nonEmpty('What is it?'), v.maxLength(100)),
  photo: v.optionalAsync(
    v.pipeAsync(
      v.instance(UploadedFile),
      v.check(({ size }) => size <= 2 ** 20, 'The photo is larger than 1 MB.'),
      v.checkAsync(isPhoto, 'This is no JPEG.'),
    ),
  ),
})

/** What the pages of the tools do. */
export class ToolPages {
  readonly #app: Pick<Application, 'urls' | 'view'>
  readonly #tools: Tools
  readonly #photos: Photos

  constructor(app: Pick<Application, 'urls' | 'view'>, tools: Tools, photos: Photos) {
    this.#app = app
    this.#tools = tools
    this.#photos = photos
  }

  async list(request: Request, text: string, page: number): Promise<Response> {
    const tools = await this.#tools.search(text, Math.max(1, page))
    return this.#render(request, 'tools/list', { text, tools })
  }

  async show(request: Request, id: number): Promise<Response> {
    const tool = await this.#find(id)
    const user = request.attributes.get('user')
    return this.#render(request, 'tools/show', {
      tool,
      hasPhoto: await this.#photos.has(id),
      isMine: tool.borrowerId === user?.id,
      isAdmin: user?.role === 'admin',
      notices: await request.session.flashes('notice'),
    })
  }

  showPhoto(request: Request, id: number): Promise<Response> {
    return createFileResponse(request, this.#photos.fileOf(id), { disposition: 'inline' })
  }

  showForm(request: Request): Promise<Response> {
    return this.#render(request, 'tools/new', { issues: {}, values: {} })
  }

  async add(request: Request, form: CheckedForm<v.InferOutput<typeof newTool>>): Promise<Response> {
    if (form.issues) return this.#render(request, 'tools/new', form, 422)
    const { name, photo } = form.value
    const id = await this.#tools.add(name, userOf(request))
    if (photo !== undefined) await this.#photos.keep(id, photo)
    return this.#goTo(id)
  }

  async borrow(request: Request, id: number): Promise<Response> {
    await this.#find(id)
    const isLent = await this.#tools.borrow(id, userOf(request))
    if (!isLent) await request.session.flash('notice', 'Another member was faster.')
    return this.#goTo(id)
  }

  async giveBack(request: Request, id: number): Promise<Response> {
    await this.#tools.giveBack(id, userOf(request))
    return this.#goTo(id)
  }

  async remove(id: number): Promise<Response> {
    await this.#tools.remove(id)
    await this.#photos.remove(id)
    return Response.redirect(this.#app.urls.generate('tools'), 303)
  }

  async #find(id: number): Promise<Tool> {
    const tool = await this.#tools.find(id)
    if (tool === undefined) throw new HttpError(404, 'There is no such tool.')
    return tool
  }

  async #render(request: Request, template: string, model: object, status = 200): Promise<Response> {
    return Response.html(this.#app.view.render(template, model, request), { status })
  }

  #goTo(id: number): Response {
    return Response.redirect(this.#app.urls.generate('tool', { id }), 303)
  }
}

/** The user of a route with a guard: there always is one. */
function userOf(request: Request): number {
  return Number(request.attributes.get('user')?.id)
}
