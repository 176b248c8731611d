import type { Request } from '../../../lib/http/request.ts'
import { Response } from '../../../lib/http/response.ts'
import type { View, ViewModel } from '../../../lib/view/view.ts'
import type { Assets } from '../assets.ts'
import { home, latestLink, routesLink } from '../links.ts'
import { protect } from './protect.ts'

/** Renders the templates of whole pages, with what all of them need. */
export class PageRenderer {
  readonly #view: View
  readonly #assets: Assets

  constructor(view: View, assets: Assets) {
    this.#view = view
    this.#assets = assets
  }

  async render(template: string, model: ViewModel, request: Request, status = 200): Promise<Response> {
    const common = {
      home,
      latestLink: latestLink(),
      routesLink: routesLink(),
      stylesheet: this.#assets.link('profiler.css'),
      script: this.#assets.link('profiler.js'),
      icon: this.#assets.link('icon.svg'),
    }
    return protect(Response.html(await this.#view.render(template, { ...common, ...model }, request), { status }))
  }
}
