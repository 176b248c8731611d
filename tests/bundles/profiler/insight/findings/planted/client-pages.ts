import { Readable } from 'node:stream'
import { setCookie } from 'sinfonietta'
import { Response } from '#lib/http/response.ts'
import { type Pages, page, pathOf } from './page.ts'

/** Pages whose fault is in what the client receives: sessions, cookies, redirects and headers. */
export function createClientPages(): Pages {
  return {
    'read-session': {
      answer: 'needless-session',
      handle: async ({ session }) => Response.html(String(await session.get('theme'))),
    },
    'counted-page': {
      answer: 'changed-session',
      async handle({ session }) {
        await session.set('last page', 'the counted page') // here: counted-page
        return page()
      },
    },
    'get-logout': {
      answer: 'changed-session',
      async handle({ session }) {
        await session.invalidate() // here: get-logout
        return Response.redirect(pathOf('plain'))
      },
    },
    'posted-session': {
      answer: 'healthy',
      method: 'POST',
      async handle({ session }) {
        await session.set('theme', 'dark')
        return page()
      },
    },
    // The last step of a login at another site.
    'login-step': {
      answer: 'healthy',
      async handle({ session }) {
        await session.regenerate()
        await session.set('user', 7)
        return Response.redirect(pathOf('plain'))
      },
    },
    'late-set': {
      answer: 'lost-session-change',
      async handle({ session }) {
        await session.has('theme')
        const send = async function* () {
          yield 'one'
          await session.set('theme', 'dark') // here: late-set
          yield 'two'
        }
        return Response.stream(Readable.from(send()))
      },
    },
    'late-set-and-save': {
      answer: 'healthy',
      method: 'POST',
      async handle({ session }) {
        const send = async function* () {
          yield 'one'
          await session.set('theme', 'dark')
          await session.save()
          yield 'two'
        }
        return Response.stream(Readable.from(send()))
      },
    },
    'shown-flashes': {
      answer: 'healthy',
      async handle({ session }) {
        await session.flash('notice', 'The page has moved.')
        return Response.html(`<body>${(await session.flashes('notice')).join()}</body>`)
      },
    },
    'missing-assets': {
      answer: 'missing-asset',
      assets: ['/assets/planted/gone.css', '/assets/planted/logo.svg'],
      isComplete: ({ data }) => data.missing !== undefined,
      handle: () => withAssets('/assets/planted/gone.css', '/assets/planted/logo.svg'),
    },
    'found-assets': {
      answer: 'healthy',
      assets: ['/assets/planted/count.hbs', '/favicon.ico'],
      handle: () => withAssets('/assets/planted/count.hbs'),
    },
    plain: { answer: 'healthy', handle: page },
    'three-redirects': {
      answer: 'redirect-chain',
      isFollowed: true,
      handle: ({ query }) => redirect('three-redirects', Number(query.get('step')), 2),
    },
    'one-redirect': {
      answer: 'healthy',
      isFollowed: true,
      handle: ({ query }) => redirect('one-redirect', Number(query.get('step')), 1),
    },
    'plain-page': { answer: 'plain-page', handle: () => Response.text('<!doctype html>\n<html>a page</html>\n') },
    'plain-example': { answer: 'healthy', handle: () => Response.text('<html> is the first element: <html></html>.') },
    'no-store': { answer: 'uncacheable-response', handle: () => withHeader('cache-control', 'no-store') },
    'no-store-of-a-session': {
      answer: 'healthy',
      async handle({ session }) {
        await session.flash('notice', 'The page has moved.')
        return withHeader('cache-control', 'no-store')
      },
    },
    'shared-cookie': { answer: 'uncacheable-response', handle: () => withCookie('theme', {}, 'public, max-age=60') },
    'private-cookie': { answer: 'healthy', handle: () => withCookie('theme', {}, 'private, max-age=60') },
    vary: { answer: 'uncacheable-response', handle: () => withHeader('vary', '*', 'public, max-age=60') },
    'vary-language': { answer: 'healthy', handle: () => withHeader('vary', 'accept-language', 'public, max-age=60') },
    'long-text': { answer: 'uncompressed-response', handle: () => long({ 'content-length': '40000' }) },
    'compressed-text': { answer: 'healthy', handle: () => long({}) },
    'large-cookie': { answer: 'large-cookie', handle: () => withValue('basket', 'x'.repeat(3100)) },
    'dropped-cookie': { answer: 'large-cookie', handle: () => withField('basket', 'x'.repeat(5000)) },
    // The listener of the bundle sets it.
    'listener-cookie': { answer: 'large-cookie', handle: page },
    'long-cookie': { answer: 'healthy', handle: () => withValue('basket', 'x'.repeat(2500)) },
    'count-of-tokens': {
      answer: 'healthy',
      handle: () => withHeader('set-cookie', 'max_tokens=512; Path=/; SameSite=Lax'),
    },
    'open-token': { answer: 'insecure-cookie', handle: () => withCookie('access_token', { httpOnly: false }) },
    'open-theme': { answer: 'healthy', handle: () => withCookie('theme', { httpOnly: false }) },
    'foreign-cookie': { answer: 'insecure-cookie', handle: () => withField('theme', 'dark', 'None') },
    'foreign-secure': { answer: 'healthy', handle: () => withCookie('theme', { sameSite: 'none', secure: true }) },
  }
}

function redirect(name: string, step: number, steps: number): Response {
  return step < steps ? Response.redirect(`${pathOf(name)}?step=${step + 1}`) : page()
}

function withAssets(...paths: readonly string[]): Response {
  return Response.html(`<body>${paths.map(path => `<img src="${path}">`).join('')}</body>`)
}

function withHeader(name: string, value: string, control?: string): Response {
  const response = page()
  response.headers.set(name, value)
  if (control !== undefined) response.headers.set('cache-control', control)
  return response
}

function withCookie(name: string, options: Parameters<typeof setCookie>[3], control = 'no-cache, private'): Response {
  const response = withHeader('cache-control', control)
  setCookie(response.headers, name, 'value', options)
  return response
}

function withValue(name: string, value: string): Response {
  const response = page()
  setCookie(response.headers, name, value)
  return response
}

/** A cookie of a library, which writes the field itself: `setCookie` refuses one that browsers drop. */
function withField(name: string, value: string, sameSite = 'Lax'): Response {
  const response = page()
  response.headers.append('set-cookie', `${name}=${value}; Path=/; HttpOnly; SameSite=${sameSite}`)
  return response
}

/** A stream with a declared length is not compressed. */
function long(headers: Readonly<Record<string, string>>): Response {
  const type = { 'content-type': 'text/plain; charset=UTF-8' }
  return Response.stream(Readable.from(['text '.repeat(8000)]), { headers: { ...type, ...headers } })
}
