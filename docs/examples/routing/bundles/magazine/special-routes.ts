import { type Application, Response } from 'sinfonietta'

/** Adds routes that are not for every request. */
export function addSpecialRoutes({ routes }: Application): void {
  routes.add({
    name: 'latest',
    path: '/magazine/latest',
    priority: 1,
    controller: () => Response.text('The latest article\n'),
  })
  routes.add({
    name: 'reader_home',
    path: '/welcome',
    host: ':reader.magazine.test',
    controller: (_request, { reader }) => Response.text(`The page of ${reader}\n`),
  })
  routes.add({
    name: 'beta',
    path: '/welcome',
    condition: request => request.cookies.has('beta'),
    controller: () => Response.text('The new page\n'),
  })
  routes.get('welcome', '/welcome', () => Response.text('Welcome\n'))
}
