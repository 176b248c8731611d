/** What every server answers; anything else is its own 404. */
export const targets = Object.freeze({
  page: '/star-photo-booth',
  json: '/hello',
  notFound: '/blog/archive',
  echo: '/echo',
  download: '/download',
  upload: '/upload',
  events: '/events',
  publish: '/publish',
})

/** What the JSON target says. */
export const greeting = Object.freeze({ hello: 'world' })

/** The JSON that is sent to the echo target and comes back: 1,000 bytes. */
export const message = JSON.stringify({
  name: 'Ada Lovelace',
  email: 'ada@example.org',
  subject: 'A photo booth for the summer party',
  tags: ['party', 'summer', 'outdoors'],
  text: 'We are about eighty people, and the party is outdoors. '.repeat(16).slice(0, 833),
})

/** The same with 900,000 bytes. */
export const largeMessage = JSON.stringify({
  ...JSON.parse(message),
  text: 'The party is outdoors. '.repeat(39_124).slice(0, 899_833),
})

/** The bytes of a download and an upload. */
export const fileSize = 10_000_000

/** Pieces in which a download is made. */
export const pieceSize = 65_536

const piece = Buffer.alloc(pieceSize, 'The party is outdoors. ')

/** The pieces of a download. */
export function* createPieces() {
  for (let left = fileSize; left > 0; left -= pieceSize) yield left < pieceSize ? piece.subarray(0, left) : piece
}

/** An event for each client. */
export const event = Object.freeze({ event: 'price', data: { id: 7, price: 12.5 } })

/** The header that our kernel gives to every page, and that the peers send as well. */
export const cacheControl = 'no-cache, private'

export const host = '127.0.0.1'

/** The other headers that our kernel gives to every response, beside an id of the request in `x-request-id`. */
export const protection = Object.freeze({
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'SAMEORIGIN',
  'referrer-policy': 'strict-origin-when-cross-origin',
})

/** The headers of a browser, shortened. They request no compression: the peers do not compress by default. */
export const browserHeaders = Object.freeze({
  'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101',
  accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8',
  'accept-language': 'en-GB,en;q=0.5',
  'accept-encoding': 'identity',
  connection: 'keep-alive',
})
