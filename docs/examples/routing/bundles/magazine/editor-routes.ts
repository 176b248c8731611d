import {
  type Application,
  asId,
  HttpError,
  type Request,
  Response,
  ResponseEvent,
  type Routes,
  routeParameter,
} from 'sinfonietta'

declare module 'sinfonietta' {
  interface KnownAttributes {
    /** Route: the section of the magazine. */
    _section: 'news' | 'archive'
  }
}

/** Adds the pages of editors. */
export function addEditorRoutes({ dispatcher, guards, routes }: Application): void {
  const roleOf = ({ headers }: Request) => headers.get('x-role') ?? 'reader'
  guards.push(
    {
      name: 'editor',
      check(request) {
        if (roleOf(request) === 'reader') throw new HttpError(403, 'This is for editors.')
        return true
      },
    },
    {
      name: 'owner',
      check(request) {
        if (roleOf(request) !== 'owner') throw new HttpError(403, 'This is for the owner.')
        return true
      },
    },
  )

  routes.group({ prefix: '/editor', name: 'editor_', guard: 'editor' }, editor => {
    editor.get('home', '', () => Response.text('Drafts\n'))
    editor.group({ prefix: '/drafts/:id', name: 'draft_' }, addDraftRoutes)
  })

  dispatcher.on(ResponseEvent, ({ request, response }) => {
    response.headers.set('x-section', request.attributes.get('_section') ?? 'news')
  })
}

/** Adds the pages of a draft, below its path. */
function addDraftRoutes(routes: Routes): void {
  routes.get('show', '', { id: routeParameter(asId) }, ({ id }) => Response.text(`Draft ${id}\n`))
  routes.group({ guard: 'owner', defaults: { _section: 'archive' } }, owned => {
    owned.post('publish', '/publish', { id: routeParameter(asId) }, ({ id }) =>
      Response.text(`Draft ${id} is published.\n`),
    )
  })
}
