import type {} from '#lib/http/request.ts'

declare module '#lib/http/request.ts' {
  /** The attributes that applications of tests have. */
  interface KnownAttributes {
    _access: 'editor' | 'owner'
    _rate_limit: object
    _role: string
    access_token: string
    before: number
    'by the controller': number
    done: string
    error: Error
    'from the start': number
    link: URL
    mine: number
    other: string
    settings: object
    shared: number
    team: object
    trail: string
    user: unknown
  }
}
