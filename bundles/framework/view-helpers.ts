import type { Application } from '../../kernel/bundle.ts'
import { dump } from '../../kernel/contracts/dump.ts'
import { KERNEL_FILE_UNKNOWN, KERNEL_FRAGMENT_FAILED, KERNEL_TOO_DEEP } from '../../kernel/errors.ts'
import type { HttpKernel } from '../../kernel/http-kernel.ts'
import { ARGUMENT_INVALID } from '../../lib/errors/arguments.ts'
import { HttpError } from '../../lib/errors/http-error.ts'
import type { Request } from '../../lib/http/request.ts'
import type { StaticFiles } from '../../lib/http/static-files.ts'
import { describeValue } from '../../lib/text/describe-value.ts'
import { suggestNames } from '../../lib/text/mistakes.ts'
import { VIEW_REQUEST_MISSING } from '../../lib/view/errors.ts'
import type { WrittenCall } from '../../lib/view/template-uses.ts'
import { type HelperCall, HtmlFragment, type View } from '../../lib/view/view.ts'

/**
 * Adds the helpers of all templates: `{{path 'route' id=7}}`, `{{url 'route'}}` with scheme and host,
 * `{{asset 'site/site.css'}}`, `{{render (path 'route')}}`, which inserts the response of a sub-request, and
 * `{{dump value 'label'}}`, which writes nothing; and those that compare values.
 */
export function addViewHelpers({ view, urls, files, kernel }: Application): void {
  addComparisonHelpers(view)
  for (const [name, absolute] of [
    ['path', false],
    ['url', true],
  ] as const) {
    const routeOf = (route: unknown) => toText(name, route, `the name of the route is missing`, 'home')
    view.addHelper(
      name,
      ({ positional: [route], named, request }) =>
        urls.generate(routeOf(route), named, { absolute, ...(request && { request }) }),
      ({ positional, named }) => {
        if (positional.length > 1) {
          const mistake = `values of the path have names: {{${name} 'home' id=7}}`
          throw new ARGUMENT_INVALID([`{{${name}}}`, mistake])
        }
        if (!isComputed(positional)) urls.check(routeOf(positional[0]), named)
      },
    )
  }
  view.addHelper(
    'asset',
    ({ positional: [name], request }) => `${request?.basePath ?? ''}${toFileUrl(files, name)}`,
    call => {
      if (call.positional.length > 0) checkCount('asset', 1, call)
      if (!isComputed(call.positional)) toFileUrl(files, call.positional[0])
    },
  )
  view.addHelper(
    'dump',
    ({ positional: [value, label] }) => {
      dump(value, label === undefined ? undefined : String(label))
      return ''
    },
    call => checkCount('dump', '1 or 2', call),
  )
  view.addHelper(
    'render',
    call => new HtmlFragment(renderFragment(kernel, requestOf(call, 'render'), toTarget(call.positional[0]))),
    call => {
      checkCount('render', 1, call)
      if (!isComputed(call.positional)) toTarget(call.positional[0])
    },
  )
}

/** Whether the first value of a call is known when a page is rendered. */
function isComputed(positional: readonly unknown[]): boolean {
  return positional.length > 0 && positional[0] === undefined
}

/** The text of a value in quotes, or of one that the page has. @throws ARGUMENT_INVALID */
function toText(helper: string, value: unknown, missing: string, example: string): string {
  if (typeof value === 'string') return value
  const mistake = value instanceof Promise ? 'its value is a promise: await it before render()' : missing
  const advice = value instanceof Promise ? '' : `: write it in quotes, as in {{${helper} '${example}'}}`
  throw new ARGUMENT_INVALID([`{{${helper}}}`, `${mistake}${advice}`])
}

/** @throws ARGUMENT_INVALID KERNEL_FILE_UNKNOWN */
function toFileUrl(files: StaticFiles, value: unknown): string {
  const name = toText('asset', value, 'the name of the file is missing', 'site/site.css')
  const url = files.url(name)
  if (url === undefined) throw new KERNEL_FILE_UNKNOWN([name, suggestNames(name, files.names())])
  return url
}

/** The path of a fragment. @throws ARGUMENT_INVALID */
function toTarget(value: unknown): string {
  if (typeof value === 'string' && value.startsWith('/')) return value
  const given = typeof value === 'string' ? `"${value}"` : describeValue(value)
  throw new ARGUMENT_INVALID(['{{render}}', `it takes a path, as in {{render (path 'home')}}, not ${given}`])
}

function requestOf({ request }: HelperCall, helper: string): Request {
  if (request === undefined) throw new VIEW_REQUEST_MISSING([`helper "${helper}"`])
  return request
}

async function renderFragment(kernel: HttpKernel, request: Request, target: string): Promise<string> {
  // A path has the prefix of the proxy for clients; a sub-request does not go through the proxy.
  const path = target.startsWith(`${request.basePath}/`) ? target.slice(request.basePath.length) : target
  const response = await kernel
    .handle(request.duplicate({ method: 'GET', target: path }), { catchErrors: false })
    .catch((error: unknown) => rejectFragment(target, error))
  if (response.status >= 300 || typeof response.body !== 'string') {
    const location = response.headers.get('location')
    throw new KERNEL_FRAGMENT_FAILED([target, `${response.status}${location === null ? '' : `, to ${location}`}`])
  }
  return response.body
}

/** Wraps the error: its status must not become that of the page. */
function rejectFragment(target: string, error: unknown): never {
  // The errors of the ten fragments around the innermost one would only repeat it.
  if (error instanceof KERNEL_TOO_DEEP) throw error
  throw new KERNEL_FRAGMENT_FAILED([target, String(error instanceof HttpError ? error.status : 500)], { cause: error })
}

/**
 * Adds the helpers that compare and join values: `{{#if (eq status 'open')}}`, `not`, `and`, `or`, and
 * `{{concat 'a' b}}`. A value counts as true if it does for `{{#if}}`: not `0`, an empty text or an empty list.
 */
export function addComparisonHelpers(view: Pick<View, 'addHelper'>): void {
  const add = (name: string, count: Count, compute: (values: readonly unknown[]) => unknown) =>
    view.addHelper(
      name,
      ({ positional }) => {
        if (positional.some(value => value instanceof Promise))
          throw new ARGUMENT_INVALID([`{{${name}}}`, 'one of its values is a promise: await it before render()'])
        return compute(positional)
      },
      call => checkCount(name, count, call),
    )
  add('eq', 2, ([one, other]) => one === other)
  add('not', 1, ([value]) => !isTrue(value))
  add('and', 'two or more', values => values.every(isTrue))
  add('or', 'two or more', values => values.some(isTrue))
  add('concat', 'two or more', values => values.map(value => String(value ?? '')).join(''))
}

type Count = 1 | 2 | '1 or 2' | 'two or more'

/** @throws ARGUMENT_INVALID */
function checkCount(name: string, count: Count, { named, positional: { length } }: WrittenCall): void {
  const [key] = Object.keys(named)
  if (key !== undefined) throw new ARGUMENT_INVALID([`{{${name}}}`, `it takes no value with a name, such as ${key}=…`])
  if (typeof count === 'number' ? length === count : count === '1 or 2' ? length === 1 || length === 2 : length >= 2)
    return
  throw new ARGUMENT_INVALID([`{{${name}}}`, `it takes ${count} ${count === 1 ? 'value' : 'values'}`])
}

function isTrue(value: unknown): boolean {
  return Array.isArray(value) ? value.length > 0 : Boolean(value)
}
