/** What every server answers; anything else is its own 404. */
export const targets = Object.freeze({
  page: '/star-photo-booth',
  json: '/hello',
  notFound: '/blog/archive',
  echo: '/echo',
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
