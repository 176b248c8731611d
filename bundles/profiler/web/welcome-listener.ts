import path from 'node:path'
import { KERNEL_NO_ROUTE } from '../../../kernel/errors.ts'
import { ExceptionEvent } from '../../../kernel/events.ts'
import type { EventDispatcher } from '../../../lib/event-dispatcher/event-dispatcher.ts'
import { Response } from '../../../lib/http/response.ts'
import { packageDirectory } from '../../../lib/package.ts'
import type { Route } from '../../../lib/routing/route.ts'
import type { EditorLinks } from '../panels/editor-links.ts'
import { formatCount } from '../profile/format.ts'
import { home, shownRoutes, visitLink } from '../profile/links.ts'
import { isOwnProgram } from '../record/recording-policy.ts'
import { filesOf, type ProfilerApplication } from './page.ts'

/** Before the error listener answers, with the priority of Symfony's welcome page. */
const priority = -64

/** The documents of the package to read first. */
const guides = ['first-page.md', 'routing.md', 'templates.md']

type WelcomeServices = Pick<
  ProfilerApplication,
  'assets' | 'debugGate' | 'directory' | 'editor' | 'routes' | 'view'
> & {
  readonly version: string
}

/**
 * Answers `/` with a welcome page if the application has no route for it. The page is a 404 that
 * lists the routes. It has no toolbar, which would show an error.
 */
export class WelcomeListener {
  readonly #services: WelcomeServices

  constructor(services: WelcomeServices) {
    this.#services = services
  }

  subscribe(dispatcher: EventDispatcher): void {
    dispatcher.subscribe(ExceptionEvent, this, 'onException', priority)
  }

  async onException(event: ExceptionEvent): Promise<void> {
    const { assets, debugGate, directory, editor, routes, version, view } = this.#services
    const { error, request } = event
    if (request.path !== '/' || !(error instanceof KERNEL_NO_ROUTE) || !debugGate.allows(request)) return
    const own = shownRoutes(routes).filter(({ name }) => !name.startsWith('_'))
    const model = {
      version,
      hasConsole: !isOwnProgram(directory),
      guides: guides.map(name =>
        editor.viewName(name, { file: path.join(packageDirectory, 'docs/guides', name), line: 1 }),
      ),
      routes: own.slice(0, routeLimit).map(route => toRow(route, editor)),
      others: own.length > routeLimit && formatCount(own.length - routeLimit, 'other'),
      home,
      ...filesOf(assets),
    }
    event.respond(Response.html(await view.render('profiler/welcome', model, request), { status: 404 }))
  }
}

/** The routes on the page. */
const routeLimit = 100

function toRow(route: Route, editor: EditorLinks) {
  const { methods, name, path } = route
  const place = editor.viewRoute(name)
  return { name, place, path: path.source, methods: methods.join(', ') || 'ANY', link: visitLink(route) }
}
