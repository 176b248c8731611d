import { createHash } from 'node:crypto'
import { type Bundle, HttpError, RequestEvent, Response } from 'sinfonietta'

declare module 'sinfonietta' {
  interface KnownAttributes {
    /** Route: a request needs the token of an owner. */
    _needs_owner: boolean
    /** The owner of the token. */
    owner: string
  }
}

/** After the router, whose defaults it reads. */
const afterRouter = 16

/** Creates an API for programs. `owners` are the owners of tokens by the digests of the tokens. */
export function createMetersBundle(owners: ReadonlyMap<string, string>): Bundle {
  return {
    name: 'meters',
    routeDefaults: ['_needs_owner'],
    register({ dispatcher, routes }) {
      dispatcher.on(
        RequestEvent,
        ({ request }) => {
          if (request.attributes.get('_needs_owner') !== true) return
          const [, token = ''] = /^Bearer (\S+)$/i.exec(request.headers.get('authorization') ?? '') ?? []
          const owner = owners.get(digest(token))
          if (owner === undefined) {
            throw new HttpError(401, 'A valid token is needed.', { headers: { 'www-authenticate': 'Bearer' } })
          }
          request.attributes.set('owner', owner)
        },
        afterRouter,
      )
      routes.group({ prefix: '/api', defaults: { _needs_owner: true, _format: 'json' } }, routes => {
        routes.get('meters', '/meters', ({ attributes }) => Response.json({ owner: attributes.get('owner') }))
      })
    },
  }
}

/** A token has 32 random bytes, so a fast digest is enough. */
export function digest(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}
