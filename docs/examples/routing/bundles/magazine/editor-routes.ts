import { type Application, HttpError, RequestEvent, Response } from 'sinfonietta'

declare module 'sinfonietta' {
  interface KnownAttributes {
    /** Route: the role that a user needs. */
    _access: 'editor' | 'owner'
  }
}

/** Adds the pages of editors. */
export function addEditorRoutes({ dispatcher, routes }: Application): void {
  routes.group({ prefix: '/editor', name: 'editor_', defaults: { _access: 'editor' } }, editor => {
    editor.get('home', '', () => Response.text('Drafts\n'))
    editor.group({ prefix: '/drafts/:id', name: 'draft_', requirements: { id: /\d+/ } }, draft => {
      draft.get('show', '', (_request, { id }) => Response.text(`Draft ${id}\n`))
      draft.add({
        name: 'publish',
        path: '/publish',
        methods: ['POST'],
        defaults: { _access: 'owner' },
        controller: (_request, { id }) => Response.text(`Draft ${id} is published.\n`),
      })
    })
  })

  dispatcher.on(RequestEvent, ({ request }) => {
    const role = request.attributes.get('_access')
    if (role === undefined || request.headers.get('x-role') === role) return
    throw new HttpError(403, `This is for the ${role}.`)
  })
}
