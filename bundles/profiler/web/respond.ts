import type { Request } from '../../../lib/http/request.ts'
import { Response } from '../../../lib/http/response.ts'
import type { ViewModel } from '../../../lib/view/view.ts'
import { home, latestLink, routesLink } from '../profile/links.ts'
import type { ProfilerApplication } from './profiler-application.ts'

const headers = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  // Pages that open this page, or are opened by it, get no access to its window.
  'cross-origin-opener-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  // Other sites do not get the address of a profile. The profiler's own forms send it to the profiler.
  'referrer-policy': 'same-origin',
}

/** Adds the headers that isolate a page of the profiler: no recorded text can run or load anything. */
export function protect(response: Response): Response {
  for (const [name, value] of Object.entries(headers)) response.headers.set(name, value)
  return response
}

/** Redirects to another page of the profiler; with 303 after a form, so that a reload does not send the form again. */
export function redirect(location: string, status: 302 | 303 = 302): Response {
  return protect(Response.redirect(location, status))
}

/** Renders the template of a whole page, with the links and files that all pages need. */
export async function renderPage(
  template: string,
  model: ViewModel,
  request: Request,
  { assets, view }: Pick<ProfilerApplication, 'assets' | 'view'>,
  status = 200,
): Promise<Response> {
  // Node 20 gives each object whose literal begins with a spread a new hidden class, if more properties follow: 20 µs here.
  const html = await view.render(template, { home, ...linksOf(assets), ...model }, request)
  return protect(Response.html(html, { status }))
}

/** The links and files that all pages need, without the home page. */
function linksOf(assets: Pick<ProfilerApplication['assets'], 'link'>): Readonly<Record<string, string>> {
  return {
    latestLink: latestLink(),
    routesLink: routesLink(),
    stylesheet: assets.link('profiler.css'),
    script: assets.link('profiler.js'),
    icon: assets.link('icon.svg'),
  }
}
