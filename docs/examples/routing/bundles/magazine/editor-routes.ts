import { type Application, HttpError, type Request, Response, ResponseEvent } from 'sinfonietta'

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
    editor.group({ prefix: '/drafts/:id', name: 'draft_', requirements: { id: /\d+/ } }, draft => {
      draft.get('show', '', (_request, { id }) => Response.text(`Draft ${id}\n`))
      draft.add({
        name: 'publish',
        path: '/publish',
        methods: ['POST'],
        guard: 'owner',
        defaults: { _section: 'archive' },
        controller: (_request, { id }) => Response.text(`Draft ${id} is published.\n`),
      })
    })
  })

  dispatcher.on(ResponseEvent, ({ request, response }) => {
    response.headers.set('x-section', request.attributes.get('_section') ?? 'news')
  })
}
