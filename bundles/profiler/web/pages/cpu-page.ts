import type { Request } from '../../../../lib/http/request.ts'
import { knownMethods } from '../../../../lib/http/request-target.ts'
import type { Response } from '../../../../lib/http/response.ts'
import type { Route } from '../../../../lib/routing/route.ts'
import { formatTime } from '../../profile/format.ts'
import { cpuLink, latestLink, profileLink, shownRoutes, visitLink } from '../../profile/links.ts'
import { type CpuTarget, describeTarget, readTarget, type WantedTarget } from '../../subjects/cpu/record.ts'
import type { ProfilerApplication } from '../profiler-application.ts'
import { redirect, renderPage } from '../respond.ts'

type CpuPageServices = Pick<ProfilerApplication, 'assets' | 'cpu' | 'routes' | 'view'>

/** A target that cannot be sampled, and the reason. */
interface RefusedTarget extends WantedTarget {
  readonly problem: string
}

/** Renders the page that says which request will be sampled, and has the form that chooses another. */
export function renderCpu(request: Request, app: CpuPageServices, refused?: RefusedTarget): Promise<Response> {
  const { armed, last } = app.cpu
  const shown = shownRoutes(app.routes).sort((a, b) => Number(isInternal(a)) - Number(isInternal(b)))
  const linkOf = (target: CpuTarget) => {
    if ('path' in target) return target.method === 'GET' ? target.path : ''
    // Another process may have armed the CPU profiler for a route that this process does not have.
    const route = app.routes.find(target.route)
    return route === undefined ? '' : visitLink(route)
  }
  const model = {
    title: 'CPU profile',
    problem: refused?.problem ?? '',
    page: cpuLink,
    armed: armed && {
      text: describeTarget(armed.target),
      until: formatTime(armed.until),
      visit: linkOf(armed.target),
    },
    last: last === undefined ? false : { token: last, link: profileLink(last, 'cpu') },
    latest: latestLink('cpu'),
    routes: shown.map(({ name, path }) => ({ name, pattern: path.source, isSelected: name === refused?.route })),
    methods: knownMethods.map(name => ({ name, isSelected: name === (refused?.method ?? 'GET') })),
    asked: refused?.path ?? '',
  }
  return renderPage('profiler/cpu', model, request, app, refused === undefined ? 200 : 422)
}

/** By the convention of Symfony. */
function isInternal({ name }: Route): boolean {
  return name.startsWith('_')
}

/** Arms the CPU profiler for the target that the form names; renders the page again if that is not possible. */
export async function armCpu(request: Request, app: CpuPageServices): Promise<Response> {
  const wanted = await readForm(request)
  const target = readTarget(wanted, app.routes)
  if (typeof target === 'string') return renderCpu(request, app, { ...wanted, problem: target })
  app.cpu.arm(target)
  return redirect(cpuLink, 303)
}

async function readForm(request: Request): Promise<WantedTarget> {
  const form = await request.formData()
  const read = (name: string) => {
    const value = form.get(name)
    return typeof value === 'string' ? value : undefined
  }
  return { route: read('route'), method: read('method'), path: read('path') }
}
