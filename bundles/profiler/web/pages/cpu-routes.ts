import { currentRequest, defineController } from '../../../../kernel/controller.ts'
import type { Request } from '../../../../lib/http/request.ts'
import { knownMethods } from '../../../../lib/http/request-line.ts'
import { Response } from '../../../../lib/http/response.ts'
import type { Route, RouteCollection } from '../../../../lib/routing/route.ts'
import { formatTime } from '../../profile/format.ts'
import { cpuLink, latestLink, recordLink, visitLink } from '../../profile/links.ts'
import { shownRoutes } from '../../profile/routes.ts'
import { type CpuTarget, describeTarget, readTarget, type WantedTarget } from '../../record/cpu/arming.ts'
import type { CpuProfiler } from '../../record/cpu/cpu-profiler.ts'
import { type PageRoute, type PageServices, protect } from './page-services.ts'

/** What the pages about CPU profiles work with. */
export interface CpuPageServices extends PageServices {
  readonly cpu: Pick<CpuProfiler, 'arm' | 'armed' | 'disarm' | 'last'>
  readonly routes: RouteCollection
}

/** Creates the page that says which request is to be sampled, and lets another be chosen. */
export function createCpuRoute(services: CpuPageServices): PageRoute {
  return {
    name: '_profiler_cpu',
    path: cpuLink,
    controller: defineController('profiler_cpu', [currentRequest], request => renderCpu(request, services)),
  }
}

/** Creates what arms and disarms the profiler of the CPU. Both lead back to the page, with 303. */
export function createArmRoutes(services: CpuPageServices): PageRoute[] {
  const { cpu, routes } = services
  return [
    {
      name: '_profiler_cpu_arm',
      path: `${cpuLink}/arm`,
      controller: defineController('profiler_cpu_arm', [currentRequest], async request => {
        const wanted = await readForm(request)
        const target = readTarget(wanted, routes)
        if (typeof target === 'string') return renderCpu(request, services, { ...wanted, problem: target })
        cpu.arm(target)
        return goBack()
      }),
    },
    {
      name: '_profiler_cpu_disarm',
      path: `${cpuLink}/disarm`,
      controller: defineController('profiler_cpu_disarm', [], () => {
        cpu.disarm()
        return goBack()
      }),
    },
  ]
}

async function readForm(request: Request): Promise<WantedTarget> {
  const form = await request.formData()
  const read = (name: string) => {
    const value = form.get(name)
    return typeof value === 'string' ? value : undefined
  }
  return { route: read('route'), method: read('method'), path: read('path') }
}

/** What was asked for, and why nothing came of it. */
interface Refused extends WantedTarget {
  readonly problem: string
}

function renderCpu(request: Request, services: CpuPageServices, refused?: Refused): Promise<Response> {
  const { cpu, pages, routes } = services
  const { armed, last } = cpu
  const shown = shownRoutes(routes).sort((a, b) => Number(isInternal(a)) - Number(isInternal(b)))
  const linkOf = (target: CpuTarget) => {
    if ('path' in target) return target.method === 'GET' ? target.path : ''
    // What another process has armed may be no route here.
    const route = routes.find(target.route)
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
    last: last === undefined ? false : { token: last, link: recordLink(last, 'cpu') },
    latest: latestLink('cpu'),
    routes: shown.map(({ name, path }) => ({ name, pattern: path.source, isSelected: name === refused?.route })),
    methods: knownMethods.map(name => ({ name, isSelected: name === (refused?.method ?? 'GET') })),
    asked: refused?.path ?? '',
  }
  return pages.render('profiler/cpu', model, request, refused === undefined ? 200 : 422)
}

/** By the custom of Symfony. */
function isInternal({ name }: Route): boolean {
  return name.startsWith('_')
}

/** 303: what the form was sent to is not asked for again when the page is reloaded. */
function goBack(): Response {
  return protect(Response.redirect(cpuLink, 303))
}
