import type { Controller } from '../../../../kernel/controller.ts'
import type { Request } from '../../../../lib/http/request.ts'
import { Response } from '../../../../lib/http/response.ts'
import type { Logger } from '../../../../lib/log/logger.ts'
import type { RouteDefinition } from '../../../../lib/routing/route.ts'
import type { View, ViewModel } from '../../../../lib/view/view.ts'
import type { FindingBadges } from '../../insight/findings/finding-badges.ts'
import type { Inspector } from '../../insight/findings/inspector.ts'
import { home, latestLink, routesLink } from '../../profile/links.ts'
import type { Profiler } from '../../record/profiler.ts'
import type { RecordingPolicy } from '../../record/recording-policy.ts'
import type { ProfileStorage } from '../../store/profile-storage.ts'
import type { Assets } from '../assets.ts'
import type { ProfilePanel } from '../panels/panel.ts'

/** What the pages work with. */
export interface PageServices {
  readonly profiler: Pick<Profiler, 'whenWritten'>
  readonly storage: ProfileStorage
  readonly policy: RecordingPolicy
  readonly pages: PageRenderer
  /** Renders panels. */
  readonly view: View
  readonly logger: Logger
  /** Finds what could be better about a request. It is loaded when it is asked for first. */
  readonly inspector: () => Promise<Inspector>
  /** Tells of it in lists. */
  readonly badges: Pick<FindingBadges, 'find'>
  /** In the order of the menu. They are loaded when they are asked for first. */
  readonly panels: () => Promise<readonly ProfilePanel[]>
}

/** The route of a page; who may see it is the same for all. */
export type PageRoute = Pick<RouteDefinition<Controller>, 'name' | 'path' | 'controller' | 'requirements'>

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

const headers = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  // A page that has opened this one, or was opened by it, gets no hold of its window.
  'cross-origin-opener-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  // To other sites no address of a record; to the profiler's own forms, where they were sent from.
  'referrer-policy': 'same-origin',
}

/** Adds the headers that keep a page of the profiler to itself: whatever a record contains, nothing foreign is run or loaded. */
export function protect(response: Response): Response {
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value)
  return response
}
