import { type Bundle, HttpError, queryValue, type Request, Response, setCookie } from 'sinfonietta'

/** A search, a cart and an album. */
export const shopBundle: Bundle = {
  name: 'shop',
  register({ routes }) {
    routes.get('search', '/search', { text: queryValue('for') }, ({ text }) => Response.json({ found: [text] }))
    routes.post('add', '/cart', addToCart)
    routes.get('cart', '/cart', showCart)
    routes.post('photos', '/photos', countPhotos)
  },
}

async function addToCart(request: Request): Promise<Response> {
  const item = (await request.formData()).get('item')
  if (typeof item !== 'string') throw new HttpError(422, 'The field "item" is missing.')
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
