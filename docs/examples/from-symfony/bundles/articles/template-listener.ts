import { type EventDispatcher, Response, type View, ViewEvent, type ViewModel } from 'sinfonietta'

declare module 'sinfonietta' {
  interface KnownAttributes {
    /** Route: the template of the result. */
    _template: string
  }
}

/** After the listeners for special results; the priority of Symfony's template attribute. */
const priority = -128

/** Renders the result of a controller with the template that its route names as `_template`. */
export class TemplateListener {
  readonly #view: View

  constructor(view: View) {
    this.#view = view
  }

  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(ViewEvent, this, 'onView', priority)
  }

  async onView(event: ViewEvent): Promise<void> {
    const template = event.request.attributes.get('_template')
    if (template === undefined) return
    // The result of such a controller is the view model of its template.
    const page = await this.#view.render(template, event.result as ViewModel, event.request)
    event.respond(Response.html(page))
  }
}
