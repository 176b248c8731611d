import { Request } from 'sinfonietta'
import type { RouteDefinition } from '#lib/routing/route.ts'

/** The routes of the recorded Symfony application that the `routing.*` cases of the conformance suite are about. */
export const probeRoutes: readonly RouteDefinition[] = [
  {
    name: 'item',
    path: '/item{/:id}',
    controller: 'item',
    methods: ['GET', 'HEAD'],
    requirements: { id: /\d+/ },
    defaults: { id: '7' },
  },
  { name: 'multi_get', path: '/multi', controller: 'multi', methods: ['GET'] },
  { name: 'multi_put', path: '/multi', controller: 'multi', methods: ['PUT', 'DELETE'] },
  { name: 'slash', path: '/slash/', controller: 'slash' },
  { name: 'slashpost', path: '/slashpost/', controller: 'slashpost', methods: ['POST'] },
  { name: 'noslash', path: '/noslash', controller: 'noslash' },
  {
    name: 'slug',
    path: '/slug/:slug{.:_format}',
    controller: 'slug',
    requirements: { _format: 'html|json|xml' },
    defaults: { _format: 'html' },
  },
  { name: 'prio_variable', path: '/prio/:x', controller: 'a' },
  { name: 'prio_static', path: '/prio/static', controller: 'b' },
  { name: 'prio2_first', path: '/prio2/:x', controller: 'a' },
  { name: 'prio2_second', path: '/prio2/:y', controller: 'b', priority: 5 },
  { name: 'u', path: '/u/:name', controller: 'u' },
  { name: 'utf', path: '/utf/é', controller: 'utf' },
  { name: 'wild', path: '/wild/*rest', controller: 'wild' },
  { name: 'opt', path: '/opt{/:a{/:b}}', controller: 'opt', defaults: { a: 'A', b: 'B' } },
  { name: 'hosted', path: '/hosted', controller: 'hosted', host: 'admin.example.test' },
  {
    name: 'hostparam',
    path: '/hostparam',
    controller: 'hostparam',
    host: ':sub.example.test',
    requirements: { sub: /[a-z]+/ },
  },
  { name: 'secure', path: '/secure', controller: 'secure', schemes: ['https'] },
  { name: 'cond', path: '/cond', controller: 'cond', condition: request => request.headers.get('x-probe') === 'yes' },
  { name: 'post_only', path: '/post-only', controller: 'post-only', methods: ['POST'] },
]

export type RequestInit = ConstructorParameters<typeof Request>[0]

/** A request of a line such as `GET /item`. */
export function request(line: string, init: Partial<RequestInit> = {}): Request {
  const [method = '', target = ''] = line.split(' ')
  return new Request({ method, target, headers: { host: '127.0.0.1:8000' }, ...init })
}
