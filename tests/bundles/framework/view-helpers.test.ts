import { type Bundle, createFrameworkBundle } from 'sinfonietta'
import { createRequest, createTestKernel } from 'sinfonietta/testing'
import { type Test, t } from 'tap'
import { addComparisonHelpers } from '#bundles/framework/view-helpers.ts'
import { Response } from '#lib/http/response.ts'
import { escapeRegExp } from '#lib/text/escapes.ts'
import { createView, type Helper } from '#lib/view/view.ts'

/** Renders a template in an application of its own, as the page of `/page`. */
async function render(
  t: Test,
  template: string,
  headers: Readonly<Record<string, string>> = {},
  settings: Readonly<Record<string, string>> = {},
) {
  const directory = t.testdir({
    templates: {
      'page.hbs': template,
      'part.hbs': '{{to}}',
      'frame.hbs': '{{> @partial-block}}',
      framework: { 'error.hbs': '{{report}}' },
    },
    bundles: { framework: { assets: {} }, own: { assets: { 'a.css': 'a{}' } } },
  })
  const own: Bundle = {
    name: 'own',
    register({ files, routes, view }) {
      files.add('own', `${directory}/bundles/own/assets`)
      routes.add({
        name: 'page',
        path: '/page',
        controller: async request => Response.html(await view.render('page', {}, request)),
      })
      routes.add({
        name: 'item',
        aliases: ['old_item'],
        path: '/item/:id',
        requirements: { id: /[\w ]+/ },
        controller: request => Response.html(`<i>${request.attributes.get('_route_params')?.id}</i>`),
      })
      routes.get('many', '/many{/:page}', () => Response.html('many'))
      routes.get('local', '/:_locale/:id', () => Response.html('local'))
      routes.add({ name: 'bytes', path: '/bytes', controller: () => new Response(Buffer.from('x')) })
      routes.add({ name: 'leads', path: '/leads', controller: () => Response.redirect('/page', 303) })
      routes.add({
        name: 'fails',
        path: '/fails',
        controller: () => {
          throw new Error('inner')
        },
      })
    },
  }
  const variables = { TRUSTED_PROXIES: 'private_ranges', ...settings }
  const { client, app } = await createTestKernel({ bundles: [createFrameworkBundle(), own], directory, variables })
  return { ...(await client.get('/page', { headers })), app }
}

t.test('values are compared and joined', async t => {
  const cases: Readonly<Record<string, string>> = {
    "{{eq 1 1}} {{eq '1' 1}}": 'true false',
    "{{not 0}} {{not 'a'}}": 'true false',
    "{{and 'a' 1}} {{and 'a' 0 1}}": 'true false',
    "{{or 0 '' 'a'}} {{or 0 ''}}": 'true false',
    "{{#if (or (eq 1 2) (not (eq 'a' 'b')))}}yes{{/if}}": 'yes',
    "{{concat 'a' 1 null '<'}}": 'a1&lt;',
  }
  for (const [template, expected] of Object.entries(cases))
    t.equal((await render(t, template)).text, expected, template)
})

t.test('what a template names is checked at the start', async t => {
  const item = 'The URL of the route "item" cannot be generated'
  const missing = (helper: string) => `{{${helper}}}: the name of the route is missing: write it in quotes`
  const value = (name: string) => `A value of the page that has the name of a helper is {{this.${name}}}`
  const none = 'There is no route "itme"; the nearest is "item"'
  const mistakes: Readonly<Record<string, string>> = {
    "{{path 'itme' id=this}}": none,
    "{{url 'itme' id=this}}": none,
    "<a href='{{path 'itme'}}'>": none,
    "{{#if no}}{{else}}{{path 'itme'}}{{/if}}": none,
    "{{#each no}}{{path 'itme' id=this}}{{/each}}": none,
    "{{render (path 'itme')}}": none,
    "{{concat (concat 'a' (path 'itme')) 'b'}}": none,
    "{{> part to=(path 'itme')}}": none,
    "{{#> frame}}{{path 'itme'}}{{/frame}}": none,
    "{{#> frame}}{{#*inline 'in'}}{{path 'itme'}}{{/inline}}{{/frame}}": none,
    "{{path 'item'}}": `${item} without "id"`,
    "{{path 'item' i=7}}": `${item} without "id"`,
    "{{path 'item' 7}}": "{{path}}: values of the path have names: {{path 'home' id=7}}",
    "{{path 'item' id=null}}": `${item} without "id"`,
    "{{path 'old_item'}}": 'The URL of the route "old_item" cannot be generated without "id"',
    "{{path 'item' id='a-b'}}": `${item} from these parameters: "a-b" is no value for "id"`,
    "{{path 'local'}}": 'The URL of the route "local" cannot be generated without "id"',
    '{{path page}}{{path}}': missing('path'),
    '{{path 7}}': missing('path'),
    '{{url id=7}}': missing('url'),
    "{{asset 'own/b.css'}}": 'There is no static file "own/b.css"; the nearest is "own/a.css"',
    "{{> part to=(asset 'a.css')}}": 'There is no static file "a.css"',
    '{{asset}}': value('asset'),
    '{{#each no}}{{url}}{{/each}}': value('url'),
    '{{render}}': '{{render}}: it takes 1 value',
    '{{eq 1}}': '{{eq}}: it takes 2 values',
    '{{not 1 2}}': '{{not}}: it takes 1 value.',
    '{{#if (or no)}}{{/if}}': '{{or}}: it takes two or more values',
    '{{#if no yes}}{{/if}}': '{{#if}}: it takes one value',
    '{{#each}}{{/each}}': '{{#each}}: it takes one value',
  }
  for (const [template, text] of Object.entries(mistakes)) {
    await t.rejects(
      render(t, template),
      { code: 'VIEW_TEMPLATE_INVALID', message: new RegExp(escapeRegExp(text)) },
      template,
    )
  }
})

t.test('what only a page knows is no mistake at the start', async t => {
  const templates = [
    "{{#if no}}{{path page}}{{path 'item' id=this}}{{path (concat 'it' 'em')}}{{asset file}}{{/if}}",
    "{{path 'item' id=7}}{{path 'old_item' id=7 more='x'}}{{path 'many'}}",
    "{{#if no}}{{path 'local' id=1}}{{path 'local' id=1 _locale=@index}}{{/if}}",
    '{{#each no as |path|}}{{path}}{{/each}}{{#if no}}{{this.url}}{{#with no}}{{../asset}}{{/with}}{{/if}}',
  ]
  for (const template of templates) t.equal((await render(t, template)).status, 200, template)
})

t.test('a helper of the application has its own rules', async t => {
  const directory = t.testdir({ templates: { 'page.hbs': "{{path 'nowhere'}}{{asset}}" } })
  const view = createView([{ path: `${directory}/templates` }])
  view.addHelper('path', ({ positional: [name] }) => `to ${name}`)
  view.addHelper('asset', () => ', all')
  t.equal(view.render('page', {}), 'to nowhere, all')
})

t.test('an empty list is false, as for #if', async t => {
  const helpers = new Map<string, Helper>()
  addComparisonHelpers({ addHelper: (name, helper) => helpers.set(name, helper) })
  const call = (name: string, ...positional: unknown[]) =>
    helpers.get(name)?.({ positional, named: {}, request: undefined })
  t.equal(call('not', []), true)
  t.equal(call('and', [0], [1]), true)
})

t.test('a page without the name of a route, or with an unknown one, says so', async t => {
  const missing = 'the name of the route is missing: write it in quotes'
  for (const call of ['path page', 'url page id=7']) t.match((await render(t, `{{${call}}}`)).text, missing)
  const none = /There is no static file &quot;own\/none\.css&quot;/
  t.match((await render(t, `{{asset (concat 'own/' 'none.css')}}`)).text, none)
})

t.test('path and url lead to routes', async t => {
  const { text } = await render(t, `{{path 'item' id=7 page=2}} {{url 'item' id='a b'}}`)
  t.equal(text, '/item/7?page&#x3D;2 http://localhost/item/a%20b')
})

t.test('the query of a link has the order of the template', async t => {
  const { text } = await render(t, `{{path 'page' b=1 a=2 c=3}} {{url 'item' z=1 id=7 y=2}}`)
  t.equal(text.replaceAll('&amp;', '&').replaceAll('&#x3D;', '='), '/page?b=1&a=2&c=3 http://localhost/item/7?z=1&y=2')
})

t.test('asset leads to a file, with its version', async t => {
  t.match((await render(t, `{{asset 'own/a.css'}}`)).text, /^\/assets\/[0-9a-f]{8}\/own\/a\.css$/)
})

t.test('render puts in what a sub-request answers', async t => {
  t.equal((await render(t, `<p>{{render (path 'item' id=7)}}{{render '/item/8'}}</p>`)).text, '<p><i>7</i><i>8</i></p>')
})

t.test('behind a proxy that cuts a prefix off, all links have it', async t => {
  const template = `{{path 'page'}} {{url 'item' id=7}} {{asset 'own/a.css'}} {{render (path 'item' id=8)}} {{render '/item/9'}}`
  const { text } = await render(t, template, { 'x-forwarded-prefix': '/shop' })
  const [page, item, asset, ...fragments] = text.split(' ')
  t.strictSame([page, item], ['/shop/page', 'http://localhost/shop/item/7'])
  t.strictSame(fragments, ['<i>8</i>', '<i>9</i>'])
  t.match(asset, /^\/shop\/assets\/[0-9a-f]{8}\/own\/a\.css$/)
})

t.test('a fragment that fails, or is no text, fails the page', async t => {
  const failed = await render(t, `{{render '/fails'}}`)
  t.equal(failed.status, 500)
  t.match(failed.text, 'KERNEL_FRAGMENT_FAILED')
  t.match(failed.text, 'The fragment &quot;/fails&quot; was answered with the status 500')
  t.match(failed.text, '## Caused by Error\n\ninner')
  const nowhere = await render(t, `{{render '/nowhere'}}`)
  t.equal(nowhere.status, 500)
  t.match(nowhere.text, 'The fragment &quot;/nowhere&quot; was answered with the status 404')
  t.match(nowhere.text, '## Caused by KERNEL_NO_ROUTE')
  const endless = await render(t, `{{render '/page'}}`)
  t.equal(endless.status, 500)
  t.match(endless.text, '# 500 Internal Server Error\n\nGET http://localhost/page\n\n## KERNEL_TOO_DEEP')
  t.match(
    (await render(t, `{{render '/bytes'}}`)).text,
    'The fragment &quot;/bytes&quot; was answered with the status 200',
  )
  t.match(
    (await render(t, `{{render '/leads'}}`)).text,
    'The fragment &quot;/leads&quot; was answered with the status 303, to /page.',
  )
})

t.test('helpers that need the request say so when it was not passed', async t => {
  const { app } = await render(t, `{{url 'page'}}{{render '/item/7'}}`)
  const message = /The URL of the route "page" must be absolute, but there is no request with a host: .* set APP_URL/
  t.throws(() => app.view.render('page', {}), { code: 'VIEW_RENDER_FAILED', message })
  t.equal(await app.view.render('page', {}, createRequest()), 'http://localhost/page<i>7</i>')
  const mail = await render(t, `{{url 'page' _fragment='a'}}{{render '/item/7'}}`, {}, { APP_URL: 'https://a.test' })
  t.throws(() => mail.app.view.render('page', {}), { message: /The helper "render" needs the request/ })
})

t.test('without a request, a link begins with APP_URL', async t => {
  const { app } = await render(t, `{{url 'page'}} {{path 'item' id=7}}`, {}, { APP_URL: 'https://a.test/shop' })
  t.equal(app.view.render('page', {}), 'https://a.test/shop/page /shop/item/7')
})
