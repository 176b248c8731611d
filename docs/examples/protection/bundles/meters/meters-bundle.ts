import { createHash } from 'node:crypto'
import { type Bundle, HttpError, Response } from 'sinfonietta'

declare module 'sinfonietta' {
  interface KnownAttributes {
    /** The owner of the token. */
    owner: string
  }
}

/** Creates an API for programs. `owners` are the owners of tokens by the digests of the tokens. */
export function createMetersBundle(owners: ReadonlyMap<string, string>): Bundle {
  return {
    name: 'meters',
    register({ guards, routes }) {
      guards.push({
        name: 'owner',
        check({ attributes, headers }) {
          const [, token = ''] = /^Bearer (\S+)$/i.exec(headers.get('authorization') ?? '') ?? []
          const owner = owners.get(digest(token))
          if (owner === undefined) {
            throw new HttpError(401, 'A valid token is needed.', { headers: { 'www-authenticate': 'Bearer' } })
          }
          attributes.set('owner', owner)
          return true
        },
      })
      routes.group({ prefix: '/api', guard: 'owner', defaults: { _format: 'json' } }, routes => {
        routes.get('meters', '/meters', ({ attributes }) => Response.json({ owner: attributes.get('owner') }))
      })
    },
  }
}

/** A token has 32 random bytes, so a fast digest is enough. */
export function digest(token: string): string {
  return createHash('sha256').update(token).digest('hex')
}
