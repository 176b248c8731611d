import type { Bundle } from '../../kernel/bundle.ts'
import { queryValue } from '../../kernel/controller/arguments.ts'
import { defineController } from '../../kernel/controller/controller.ts'
import { HttpError } from '../../lib/errors/http-error.ts'
import { setCookie } from '../../lib/http/cookies.ts'
import type { Request } from '../../lib/http/request.ts'
import { Response } from '../../lib/http/response.ts'

/** A search, a cart and an album. */
export const shopBundle: Bundle = {
  name: 'shop',
  register({ routes }) {
    const search = defineController('search', [queryValue('for')], text => Response.json({ found: [text] }))
    routes.add({ name: 'search', path: '/search', methods: ['GET'], controller: search })
    routes.add({ name: 'add', path: '/cart', methods: ['POST'], controller: addToCart })
    routes.add({ name: 'cart', path: '/cart', methods: ['GET'], controller: showCart })
    routes.add({ name: 'photos', path: '/photos', methods: ['POST'], controller: countPhotos })
  },
}

async function addToCart(request: Request): Promise<Response> {
  const item = (await request.formData()).get('item')
  if (typeof item !== 'string') throw new HttpError(422, 'Say which item.')
  const response = Response.redirect('/cart', 303)
  setCookie(response.headers, 'item', item)
  return response
}

function showCart(request: Request): Response {
  return Response.text(`In your cart: ${request.cookies.get('item') ?? 'nothing'}`)
}

async function countPhotos(request: Request): Promise<Response> {
  const photos = (await request.formData()).getAll('photo')
  return Response.text(`${photos.length} photos`)
}
