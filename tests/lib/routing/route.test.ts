import { HttpError } from 'sinfonietta'
import { t } from 'tap'
import { createRequirement, Pattern } from '#lib/routing/pattern.ts'
import { Route, type RouteDefinition, type RouteMethod } from '#lib/routing/route.ts'

function read(pattern: Pattern, text: string): Record<string, string | undefined> | string | undefined {
  const found = pattern.match(text)
  if (found?.names === undefined) return found?.failed.name
  return Object.fromEntries(found.names.map((name, index) => [name, found.values[index]]))
}

t.test('a pattern reads its variables out of a path', async t => {
  t.same(read(new Pattern('/item/:id'), '/item/7'), { id: '7' })
  t.same(read(new Pattern('/wild/*rest'), '/wild/a/b/'), { rest: 'a/b/' })
  t.same(read(new Pattern('/utf/é'), '/utf/é'), {})
  t.same(read(new Pattern('/x/:"a b"'), '/x/1'), { 'a b': '1' })
})

t.test('a pattern minds case, slashes and line breaks', async t => {
  const pattern = new Pattern('/item/:id')
  for (const path of ['/Item/7', '/item/7/', '/item/7/8', '/item/', '/item', 'item/7', '/x/item/7', '/item/7/\n']) {
    t.equal(pattern.match(path), undefined, path)
  }
  t.equal(new Pattern('/fixed').match('/fixed\n'), undefined)
})

t.test('each optional part may be present or absent', async t => {
  const nested = new Pattern('/opt{/:a{/:b}}')
  t.same(read(nested, '/opt'), {})
  t.same(read(nested, '/opt/x'), { a: 'x' })
  t.same(read(nested, '/opt/x/y'), { a: 'x', b: 'y' })
  t.equal(read(nested, '/opt/'), undefined)
  t.same(nested.names, ['a', 'b'])
})

t.test('if a requirement fails, the next form of the pattern is tried', async t => {
  const pattern = new Pattern('/list{/:page}{/:tag}', { requirements: { page: /\d+/, tag: /[a-z]+/ } })
  t.same(read(pattern, '/list/2'), { page: '2' })
  t.same(read(pattern, '/list/red'), { tag: 'red' })
  t.same(read(pattern, '/list/2/red'), { page: '2', tag: 'red' })
  t.equal(read(pattern, '/list/RED'), 'page', 'the first requirement that fails')
})

t.test('a variable ends at the separator that may follow it', async t => {
  const pattern = new Pattern('/slug/:slug{.:_format}', { requirements: { _format: 'html|json|xml' } })
  t.same(read(pattern, '/slug/hello'), { slug: 'hello' })
  t.same(read(pattern, '/slug/x.json'), { slug: 'x', _format: 'json' })
  t.equal(read(pattern, '/slug/hello.txt'), '_format')
  t.equal(read(pattern, '/slug/a.b.xml'), '_format')
  t.equal(read(pattern, '/slug/a.'), 'slug')
  t.equal(read(pattern, '/slug/.xml'), 'slug')
  t.same(read(new Pattern('/:from--:to'), '/a--b-c'), { from: 'a', to: 'b-c' })
  t.equal(read(new Pattern('/:from--:to'), '/a-b--c'), 'from')
})

t.test('a requirement may allow a variable the separator that follows it', async t => {
  const pattern = new Pattern('/slug/:slug{.:_format}', { requirements: { slug: /[a-z.]+/, _format: /html|xml/ } })
  t.same(read(pattern, '/slug/a.b'), { slug: 'a.b' })
})

t.test('a requirement is about the whole value, and keeps no state', async t => {
  for (const declared of ['\\d+|x', /\d+|x/, /\d+|x/gm, /^\d+$|x/y]) {
    const { regexp } = createRequirement('id', declared)
    for (const value of ['12', 'x', '12', '12']) t.ok(regexp.test(value), `${declared} accepts ${value}`)
    for (const value of ['12a', 'a12', 'xx', '12\n', '12\nx', '']) t.notOk(regexp.test(value), `${declared}: ${value}`)
  }
  t.ok(createRequirement('id', /a/i).regexp.test('A'))
  t.ok(createRequirement('rest', '.+').regexp.test('a\nb'), 'a dot is any character, as in Symfony')
  t.throws(() => createRequirement('id', 'a)|(b'), SyntaxError)
})

t.test('a host is read in lower case, with the dot as its delimiter', async t => {
  const host = new Pattern(':tenantName.Example.test', { delimiter: '.' })
  t.same(read(host, 'acme.example.test'), { tenantName: 'acme' })
  t.equal(host.match('a.b.example.test'), undefined)
  t.same(read(new Pattern('*sub.example.test', { delimiter: '.' }), 'a.b.example.test'), { sub: 'a.b' })
})

const base: RouteDefinition = { name: 'page', path: '/page', controller: undefined }

function refusal(definition: Partial<RouteDefinition>): string {
  try {
    new Route({ ...base, ...definition })
  } catch (error) {
    if (error instanceof HttpError && error.code === 'ROUTE_DEFINITION_INVALID') return error.message
    throw error
  }
  return 'accepted'
}

t.test('a wrong definition is refused, with the right form', async t => {
  t.equal(refusal({}), 'accepted')
  t.match(refusal({ path: 'page' }), 'The route "page" cannot be used: its path is page: it must begin with a slash')
  t.match(refusal({ path: '{/:a}' }), 'also without its optional parts')
  t.match(refusal({ path: '/item/(\\d+)' }), /its path is .*: Unexpected \( at index 6.*regular expressions go into/)
  t.match(refusal({ path: '/item/:' }), 'Missing parameter name')
  t.match(refusal({ path: '/:a:b' }), 'Missing text before "b" param')
  t.match(refusal({ path: '/item/{id}' }), 'write ":id" instead of "{id}"')
  t.match(refusal({ path: '/:a{/:b}-:a' }), 'it has two variables "a"')
  t.match(refusal({ path: '/x{a}{b}{c}{d}{e}{f}{g}' }), 'more than 64 forms')
  t.match(refusal({ path: '/:id', requirements: { id: '(' } }), /its path is \/:id: Invalid regular expression/)
  t.match(refusal({ path: '/:id', requirements: { ID: /a/ } }), 'a requirement for "ID", but its variables are: id')
  t.match(refusal({ requirements: { id: /a/ } }), 'but its variables are: none')
  t.match(refusal({ host: 'localhost:8080' }), 'its host is localhost:8080: leave the port out')
  t.match(refusal({ path: '/:a', host: ':a.test' }), 'both its path and its host have a variable "a"')
  t.match(refusal({ methods: [] }), 'its methods are an empty list; leave them out to allow all')
  t.match(refusal({ methods: ['get' as RouteMethod] }), 'its methods must be of GET, HEAD, POST,')
  t.match(refusal({ methods: ['GET', 'TRACE' as RouteMethod] }), 'not "TRACE"')
  t.match(refusal({ schemes: ['ftp' as 'http'] }), 'its schemes must be of http, https, not "ftp"')
  t.match(refusal({ name: '' }), 'the route of /page needs a name')
})

t.test('the reason of path-to-regexp stays the cause', async t => {
  try {
    new Route({ ...base, path: '/a+' })
    t.fail('must be refused')
  } catch (error) {
    t.match(error, { code: 'ROUTE_DEFINITION_INVALID', status: 500, cause: TypeError })
  }
})

t.test('defaults cannot be changed', async t => {
  const { defaults } = new Route({ ...base, defaults: { _format: 'json' } })
  t.equal(Object.getPrototypeOf(defaults), null)
  t.ok(Object.isFrozen(defaults))
})
