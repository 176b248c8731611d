import { rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { Request } from 'sinfonietta'
import { type Test, t } from 'tap'
import { createTraceableView } from '#lib/view/traceable-view.ts'
import { createValueCheck, type ValueMistake } from '#lib/view/value-mistakes.ts'
import { createView, HtmlFragment, type View, type ViewModel } from '#lib/view/view.ts'

type Files = { [name: string]: string | Files }

function viewOf(t: Test, files: Files, prepare: (view: View) => void = () => undefined): View {
  const view = createView([{ path: t.testdir(files) }])
  prepare(view)
  view.load()
  return view
}

t.test('values are escaped', async t => {
  const view = viewOf(t, { 'page.hbs': '<p title="{{text}}">{{text}}</p>' })
  const page = view.render('page', { text: `<b>"'&` })
  t.equal(page, '<p title="&lt;b&gt;&quot;&#x27;&amp;">&lt;b&gt;&quot;&#x27;&amp;</p>')
})

t.test('layouts are partials with blocks, named by their path', async t => {
  const view = viewOf(t, {
    site: {
      'layout.hbs': '<title>{{title}}</title>{{> content}}',
      'page.hbs': '{{#> site/layout title="T"}}{{#*inline "content"}}<p>{{text}}</p>{{/inline}}{{/site/layout}}',
    },
  })
  t.equal(view.render('site/page', { text: 'x' }), '<title>T</title><p>x</p>')
})

t.test('a template of any name is a partial', async t => {
  const view = viewOf(t, { 'page.hbs': '<{{name}}>', 'list.hbs': '{{> page name="a"}}' })
  t.equal(view.render('list', {}), '<a>')
})

t.test('a layout may use what its block holds', async t => {
  const view = viewOf(t, {
    'box.hbs': '<div>{{> @partial-block}}</div>',
    'page.hbs': '{{#> box}}{{#if yes}}<b>{{yes}}</b>{{else}}no{{/if}}{{/box}}',
  })
  t.equal(view.render('page', { yes: '1' }), '<div><b>1</b></div>')
})

t.test('a helper gets its arguments and the request; its result is escaped unless it is a fragment', async t => {
  const request = new Request({ target: '/here' })
  const view = viewOf(t, { 'page.hbs': '{{show "a" 2 named=text}}|{{plain}}|{{show (plain)}}' }, view => {
    view.addHelper('show', ({ positional, named, request }) => `<${positional.join()} ${named.named} ${request?.path}>`)
    view.addHelper('plain', () => new HtmlFragment('<i>'))
  })
  t.equal(view.render('page', { text: 'b' }, request), '&lt;a,2 b /here&gt;|<i>|&lt;&lt;i&gt; undefined /here&gt;')
})

t.test('globals', async t => {
  t.test('each template has them: pages, layouts, partials and blocks', async t => {
    const files = {
      'layout.hbs': '{{@site.title}}|{{> @partial-block}}',
      'item.hbs': '{{name}}{{@site.title}}',
      'page.hbs': '{{#> layout}}{{#each items}}{{@index}}{{@site.title}}{{> item}};{{/each}}{{/layout}}',
      'plain.hbs': '{{text}}',
    }
    const view = viewOf(t, files, view => {
      view.addGlobal('site', { title: '<S>' })
      view.addGlobal('unused', () => t.fail('must not be called'))
    })
    t.strictSame(view.globals(), ['site', 'unused'])
    t.equal(view.render('page', { items: [{ name: 'a' }] }), '&lt;S&gt;|0&lt;S&gt;a&lt;S&gt;;')
    t.equal(view.render('plain', { text: 'x' }), 'x')
  })

  t.test('a function is called once for each request, with the main one, and only for pages that use it', async t => {
    const calls: Request[] = []
    const files = { 'page.hbs': '{{@user.name}}', 'plain.hbs': '' }
    const view = viewOf(t, files, view => {
      view.addGlobal('user', request => {
        calls.push(request)
        return { name: 'Ada' }
      })
    })
    const request = new Request({ target: '/' })
    t.equal(view.render('plain', {}, request), '')
    t.equal(calls.length, 0)
    t.equal(view.render('page', {}, request.duplicate()), 'Ada')
    t.equal(view.render('page', {}, request), 'Ada')
    t.strictSame(calls, [request])
    t.equal(view.render('page', {}, new Request({ target: '/' })), 'Ada')
    t.equal(calls.length, 2)
  })

  t.test('a promise is awaited before the page is rendered', async t => {
    const view = viewOf(t, { 'page.hbs': '{{@user.name}}{{@site}}{{later}}' }, view => {
      view.addGlobal('user', () => Promise.resolve({ name: 'Ada' }))
      view.addGlobal('site', 'S')
      view.addHelper('later', () => new HtmlFragment(Promise.resolve('<b>')))
    })
    const page = view.render('page', {}, new Request({ target: '/' }))
    t.ok(page instanceof Promise)
    t.equal(await page, 'AdaS<b>')
  })

  t.test('a failure names the global, in each page of the request', async t => {
    const view = viewOf(
      t,
      { 'now.hbs': '{{@now}}', 'later.hbs': '{{@later}}', 'both.hbs': '{{@later}}{{@now}}' },
      view => {
        view.addGlobal('now', () => {
          throw new Error('no clock')
        })
        view.addGlobal('later', () => Promise.reject('no database'))
      },
    )
    const request = new Request({ target: '/' })
    const code = 'VIEW_RENDER_FAILED'
    t.throws(() => view.render('now', {}, request), {
      code,
      message: 'The template "now" cannot be rendered: the global "now" has failed: no clock',
      cause: { message: 'no clock' },
    })
    t.throws(() => view.render('both', {}, new Request({ target: '/' })), { code, message: /"now"/ })
    await t.rejects(Promise.resolve(view.render('later', {}, request)), {
      code,
      message: 'The template "later" cannot be rendered: the global "later" has failed: no database',
    })
    t.throws(() => view.render('now', {}), {
      code: 'VIEW_REQUEST_MISSING',
      message: 'The global "now" needs the request: pass it as the third argument of render().',
    })
  })

  t.test('a name that no global has is a mistake of the template', async t => {
    const files = {
      'page.hbs': '{{@root.a}}{{#if @usr.name}}{{/if}}',
      'list.hbs': '{{#each a}}{{@../index}}{{@request}}{{/each}}',
    }
    t.throws(() => viewOf(t, files, view => view.addGlobal('user', 1)), {
      code: 'VIEW_TEMPLATE_INVALID',
      message:
        /list\.hbs: line 1: there is no global "@request": pass .*\n.*page\.hbs: line 1: there is no global "@usr"; the nearest is "user"/,
    })
  })

  t.test('a name can be added once, and not be one of Handlebars', async t => {
    const view = createView([])
    view.addGlobal('user', 1)
    const code = 'VIEW_GLOBAL_INVALID'
    t.throws(() => view.addGlobal('user', 2), { code, message: /already, added in .*view\.test\.[jt]s:\d+\. Choose/ })
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    view.addGlobal('other', 1)
    Error.stackTraceLimit = stackTraceLimit
    t.throws(() => view.addGlobal('other', 2), { code, message: /already\. Choose/ })
    t.throws(() => view.addGlobal('index', 2), { code, message: /@index has a meaning already/ })
    t.throws(() => view.addGlobal('a-b', 2), { code, message: /must be letters, digits and "_"/ })
  })

  t.test('a traced view passes them on, and its tracer gets their names', async t => {
    const begun: unknown[] = []
    const inner = createView([{ path: t.testdir({ 'page.hbs': '{{@site}}{{> part}}', 'part.hbs': '' }) }])
    const view = createTraceableView(inner, {
      begin: (name, _model, _request, globals) => void begun.push([name, globals]),
      beginWait: () => () => undefined,
    })
    view.addGlobal('site', 'S')
    t.strictSame(view.globals(), ['site'])
    t.equal(view.render('page', {}), 'S')
    t.strictSame(begun, [
      ['page', ['site']],
      ['part', ['site']],
    ])
  })
})

t.test('a page waits for a later fragment, which is put in its place', async t => {
  const view = viewOf(t, { 'page.hbs': '[{{later "a" 2}}][{{later "b" 1}}]' }, view => {
    view.addHelper('later', ({ positional: [text, turns] }) => new HtmlFragment(wait(Number(turns), `<${text}$&>`)))
  })
  const page = view.render('page', {})
  t.ok(page instanceof Promise)
  t.equal(await page, '[<a$&>][<b$&>]')
})

t.test('a fragment that fails fails the page', async t => {
  const view = viewOf(t, { 'page.hbs': '{{later}}{{later}}' }, view => {
    view.addHelper('later', () => new HtmlFragment(Promise.reject(new Error('no fragment'))))
  })
  await t.rejects(Promise.resolve(view.render('page', {})), { message: 'no fragment' })
})

t.test('a fragment that fails after its page is no unhandled rejection', async t => {
  const view = viewOf(t, { 'page.hbs': '{{later}}{{missing}}' }, view => {
    view.addHelper('later', () => new HtmlFragment(Promise.reject(new Error('too late'))))
  })
  t.throws(() => view.render('page', {}), { code: 'VIEW_RENDER_FAILED' })
  // An unhandled rejection would fail this test.
  await new Promise(setImmediate)
})

/** The message about a page that cannot be rendered, without the name of the page. */
function failureOf(t: Test, view: View, model: ViewModel = {}): string {
  const error = t.throws(() => view.render('page', model), { code: 'VIEW_RENDER_FAILED' }) as Error
  t.match(error.message, /^The template "page" cannot be rendered: /)
  return error.message.slice('The template "page" cannot be rendered: '.length)
}

function viewOfTemplates(t: Test, templates: Files, prepare?: (view: View) => void): View {
  const view = createView([{ path: `${t.testdir({ templates })}/templates` }])
  prepare?.(view)
  return view
}

t.test('a field that the model lacks is an error that names file and line', async t => {
  const view = viewOfTemplates(t, { 'page.hbs': '<p>\n{{missing}}</p>' })
  t.equal(failureOf(t, view), 'templates/page.hbs: line 2: "missing" is not defined')
  const deep = viewOfTemplates(t, { 'page.hbs': '{{#if a}}{{else if b}}\n{{c.d}}{{/if}}' })
  t.equal(
    failureOf(t, deep, { a: 0, b: 1, c: null }),
    'templates/page.hbs: line 2: "d" of {{c.d}} is not defined, because "c" is null: if it may be missing, write {{#if c}} … {{/if}} around it',
  )
})

t.test('a missing parent in an argument of a helper is named, with its line if only one place has it', async t => {
  const prepare = (view: View) => view.addHelper('eq', ({ positional: [one, other] }) => one === other)
  const one = viewOfTemplates(t, { 'page.hbs': '{{#if other.name}}{{/if}}\n{{eq user.name "Ada"}}' }, prepare)
  const reason = '"name" of user.name is not defined, because "user" is undefined'
  t.equal(failureOf(t, one, { other: {} }), `templates/page.hbs: line 2: ${reason}`)
  const two = viewOfTemplates(t, { 'page.hbs': '{{#if user.name}}{{/if}}\n{{eq user.name "Ada"}}' }, prepare)
  t.equal(failureOf(t, two), `templates/page.hbs: ${reason}`)
  const nothing = viewOfTemplates(t, { 'page.hbs': '{{#with order}}{{#if user.name.first}}{{/if}}{{/with}}' }, prepare)
  t.equal(
    failureOf(t, nothing, { order: { user: { name: null } }, user: { name: null } }),
    'templates/page.hbs: line 1: "first" of user.name.first is not defined, because "user.name" is null',
  )
  const unsure = viewOfTemplates(t, { 'page.hbs': '{{#if user.name}}{{/if}}{{#if guest.name}}{{/if}}' }, prepare)
  t.match(failureOf(t, unsure), /^Cannot read properties of undefined \(reading 'name'\)$/, 'two paths are possible')
})

t.test('the error of a page names the file whose text has failed', async t => {
  const partial = viewOfTemplates(t, { 'page.hbs': '\n\n{{> shop/menu}}', shop: { 'menu.hbs': '<nav>\n{{foo}}' } })
  t.equal(
    failureOf(t, partial),
    'templates/shop/menu.hbs: line 2: "foo" is not defined; {{> shop/menu}} in templates/page.hbs: line 3 does not pass it',
  )
  const files = {
    'layout.hbs': '<title>{{title}}</title>\n\n\n{{> content}}',
    'page.hbs': '{{#> layout}}{{#*inline "content"}}\n{{foo}}{{/inline}}{{/layout}}',
  }
  const layout = viewOfTemplates(t, files)
  t.equal(
    failureOf(t, layout),
    'templates/layout.hbs: line 1: "title" is not defined; {{#> layout}} in templates/page.hbs: line 1 does not pass it',
  )
  t.equal(failureOf(t, layout, { title: 'T' }), 'templates/page.hbs: line 2: "foo" is not defined')
})

t.test('a call of a partial is named only if it is certain that it passes too little', async t => {
  const plain = 'templates/menu.hbs: line 1: "foo" is not defined'
  const pages = {
    'several calls are possible': ['{{#if a}}{{> menu}}{{else}}{{> menu}}{{/if}}', '{{foo}}'],
    'the value is one of an item': ['{{> menu}}', '{{#each items}}{{foo}}{{/each}}'],
    'the value is one of another object': ['{{> menu}}', '{{#with item}}{{foo}}{{/with}}'],
  }
  for (const [reason, [page = '', menu = '']] of Object.entries(pages)) {
    const view = viewOfTemplates(t, { 'page.hbs': page, 'menu.hbs': menu })
    t.equal(failureOf(t, view, { a: 1, items: [{}], item: {} }), plain, reason)
  }
})

t.test('a partial that a page does not have is explained by the call that lacks it', async t => {
  const files = {
    'frame.hbs': '<main>{{> @partial-block}}</main>',
    'optional.hbs': '{{#if @partial-block}}{{> @partial-block}}{{/if}}',
    'parts.hbs': '<head>\n{{> head}}</head>',
    'other.hbs': '{{#> parts}}{{#*inline "head"}}{{/inline}}{{/parts}}{{#if no}}{{> heads}}{{/if}}',
    'more.hbs': '{{#> parts}}{{#*inline "heads"}}{{/inline}}{{#*inline "head"}}{{/inline}}{{/parts}}',
  }
  const explain = (page: string, name = 'page') => {
    const view = viewOfTemplates(t, { ...files, 'page.hbs': page })
    const error = t.throws(() => view.render(name, {})) as Error
    t.match(error, { code: 'VIEW_RENDER_FAILED', cause: undefined })
    return [error.message.replace(/^.* cannot be rendered: /, ''), ...framesOf(t, () => view.render(name, {}))]
  }
  t.strictSame(explain('{{> optional}}\n {{> frame}}'), [
    'templates/page.hbs: line 2: {{> frame}} has no block, which the partial inserts: write {{#> frame}}…{{/frame}}',
    'template page /templates/page.hbs:2:2)',
  ])
  t.strictSame(explain('', 'frame'), [
    'it is a layout, which inserts the block of its caller: render a template that calls {{#> frame}}',
  ])
  t.strictSame(explain('{{#> parts}}{{#*inline "heads"}}{{/inline}}{{/parts}}'), [
    'templates/parts.hbs: line 2: {{> head}} finds no partial "head"; the nearest is "heads": a page defines it in the block of its layout: {{#*inline "head"}}…{{/inline}}',
    'template parts /templates/parts.hbs:2:1)',
  ])
})

t.test('the error of a helper names the file and the line of its call; the cause is that of the helper', async t => {
  const cause = new Error('there is no route "nowhere"')
  const files = { 'page.hbs': '{{> menu}}', 'menu.hbs': '\n{{#if (path "nowhere")}}{{/if}}' }
  const view = viewOfTemplates(t, files, view => {
    view.addHelper('path', () => {
      throw cause
    })
  })
  t.equal(failureOf(t, view), 'templates/menu.hbs: line 2: there is no route "nowhere"')
  t.throws(() => view.render('page', {}), { cause })
})

/** The first calls of the error of a page that lie in templates. */
function framesOf(t: Test, act: () => unknown): string[] {
  const { stack } = t.throws(act) as Error
  const calls = String(stack)
    .split('\n')
    .filter(line => line.startsWith('    at template '))
  return calls.map(line => line.replace(/^ {4}at | \(.*(?=\/templates)/g, ' ').trim())
}

t.test('the first calls of the error of a page are the places in templates', async t => {
  const files = {
    'page.hbs': '\n\n{{> shop/menu}}',
    'twice.hbs': '{{#if a}}{{> shop/menu}}{{else}}{{> shop/menu}}{{/if}}',
    shop: { 'menu.hbs': '<nav>\n {{foo}}' },
    'call.hbs': '\n <b>{{fail}}</b>',
    'gone.hbs': '{{> shop/menu}}',
  }
  const fail = () => {
    throw new Error('refused')
  }
  const plain = viewOfTemplates(t, files, view => view.addHelper('fail', fail))
  t.strictSame(
    framesOf(t, () => plain.render('page', {})),
    ['template shop/menu /templates/shop/menu.hbs:2:4)'],
  )
  t.strictSame(
    framesOf(t, () => plain.render('call', {})),
    ['template call /templates/call.hbs:2:5)'],
  )

  const untraced = viewOfTemplates(t, files, view => view.addHelper('fail', fail))
  const view = createTraceableView(untraced, { begin: () => () => undefined, beginWait: () => () => undefined })
  t.strictSame(
    framesOf(t, () => view.render('page', {})),
    ['template shop/menu /templates/shop/menu.hbs:2:4)', 'template page /templates/page.hbs:3:1)'],
  )
  t.strictSame(
    framesOf(t, () => view.render('twice', { a: 1 })),
    ['template shop/menu /templates/shop/menu.hbs:2:4)'],
  )
  rmSync(String(view.files().find(({ name }) => name === 'gone')?.file))
  t.strictSame(
    framesOf(t, () => view.render('gone', {})),
    ['template shop/menu /templates/shop/menu.hbs:2:4)'],
  )
})

t.test('an error without calls gets those in templates, too', async t => {
  const view = viewOfTemplates(t, { 'page.hbs': '{{foo}}' })
  const { stackTraceLimit } = Error
  Error.stackTraceLimit = 0
  const frames = framesOf(t, () => view.render('page', {}))
  Error.stackTraceLimit = stackTraceLimit
  t.strictSame(frames, ['template page /templates/page.hbs:1:3)'])
})

t.test('an error without a place is reported without one', async t => {
  const view = viewOfTemplates(t, { 'page.hbs': 'page' })
  view.decorateTemplates(() => () => {
    throw new Error('no place')
  })
  t.equal(failureOf(t, view), 'no place')
})

t.test('a thrown value that is no error fails the page with a reason', async t => {
  const view = viewOf(t, { 'page.hbs': '{{fail}}' }, view => {
    view.addHelper('fail', () => {
      throw 'just text'
    })
  })
  t.match(failureOf(t, view), /page\.hbs: line 1: just text$/)
})

t.test('an unknown template is an error with the folder', async t => {
  const view = viewOf(t, {})
  t.throws(() => view.render('nope', {}), { code: 'VIEW_TEMPLATE_UNKNOWN', message: /"nope\.hbs" in \S*\.$/ })
  const shop = viewOf(t, { 'books.hbs': '', 'order.hbs': '', 'other.hbs': '' })
  t.throws(() => shop.render('orher', {}), { message: /; the nearest are "order", "other"\.$/ })
  t.throws(() => shop.render('boks', {}), { message: /"boks\.hbs" in \S*; the nearest is "books"\.$/ })
})

t.test('an unknown template that has a file is an error with the reason why the file is not used', async t => {
  const directory = t.testdir({
    templates: { library: { 'books.hbs': '' }, home: { 'home.hbs': '', 'list.html': '', 'old.html.twig': '' } },
    bundles: { home: { templates: { 'about.hbs': '' } }, idle: { templates: { deep: { 'page.hbs': '' } } } },
  })
  const view = createView([{ path: `${directory}/templates` }], ['home'])
  const reasonFor = (name: string) => {
    const error = t.throws(() => view.render(name, {}), { code: 'VIEW_TEMPLATE_UNKNOWN' }) as Error
    return error.message.replace(/^.*?\/templates(?=[:;])/, '')
  }
  t.strictSame(
    ['library/books', 'home/about', 'home/list', 'home/old', 'idle/deep/page', 'home', 'home.hbs'].map(reasonFor),
    [
      ': the file templates/library/books.hbs exists, but no bundle "library" is in the list of bundles.',
      ': the file bundles/home/templates/about.hbs exists, but its place is templates/home/about.hbs.',
      ': the file templates/home/list.html exists, but its name is templates/home/list.hbs.',
      ': the file templates/home/old.html.twig exists, but its name is templates/home/old.hbs.',
      ': the file bundles/idle/templates/deep/page.hbs exists, but no bundle "idle" is in the list of bundles.',
      '; the nearest is "home/home".',
      '; the nearest is "home/home".',
    ],
  )
})

t.test('a list that the data of a page does not have is reported once for each render', async t => {
  class Shop {
    get books(): string[] {
      return []
    }
  }
  const templates = {
    'page.hbs': '{{title}}\n{{#each repairz}}{{this}}{{else}}none{{/each}}',
    'twice.hbs': '{{#each rows}}{{#each repairz}}{{/each}}{{#each tags}}{{/each}}{{/each}}',
    'items.hbs':
      '{{#each rows}}{{#each tags}}{{/each}}{{#each ../tagz}}{{/each}}{{#each @root.tagz}}{{/each}}{{/each}}',
    'deep.hbs': '{{#each shop.books}}{{/each}}{{#each shop.names.long}}{{/each}}{{#each (list)}}{{/each}}',
    'part.hbs': '{{> page title="T"}}',
  }
  const found: ValueMistake[] = []
  const directory = t.testdir({ templates })
  const view = createView([{ path: `${directory}/templates` }], undefined, root =>
    createValueCheck(root, missing => void found.push(missing)),
  )
  view.addHelper('list', () => undefined)
  const listsOf = (name: string, model: ViewModel, request?: Request) => {
    found.length = 0
    void view.render(name, model, request)
    return found.map(({ call, mistake, place }) => [call, place, mistake])
  }
  const request = new Request({ target: '/' })
  const call = ['{{#each repairz}}', 'templates/page.hbs:2']
  const nearest = 'has no value: "repairz" is not defined; the nearest is "repairs"'
  t.strictSame(listsOf('page', { title: '', repairs: [] }, request), [[...call, nearest]])
  t.equal(found[0]?.request, request)
  t.strictSame(listsOf('part', { repairs: [] }), [[...call, nearest]], 'a partial, too')
  t.strictSame(listsOf('page', { title: '' }), [], 'it may be optional')
  t.strictSame(listsOf('page', { title: '', repairz: undefined, repairs: [] }), [], 'it is optional')
  t.strictSame(listsOf('page', { title: '', repairz: [] }), [])
  const rows = [{ repairs: [], tag: '' }, { repairs: [] }]
  t.strictSame(listsOf('twice', { rows }), [
    ['{{#each repairz}}', 'templates/twice.hbs:1', nearest],
    ['{{#each tags}}', 'templates/twice.hbs:1', 'has no value: "tags" is not defined; the nearest is "tag"'],
  ])
  t.strictSame(listsOf('items', { rows, tags: [] }), [
    [
      '{{#each tags}}',
      'templates/items.hbs:1',
      'has no value: its item has no "tags", but the page has: {{#each @root.tags}}',
    ],
  ])
  const unread =
    'has no value: "books" is not defined: templates do not read methods and getters of an object of the class Shop'
  t.strictSame(listsOf('deep', { shop: Object.assign(new Shop(), { names: { longs: [] } }) }), [
    ['{{#each shop.books}}', 'templates/deep.hbs:1', unread],
    [
      '{{#each shop.names.long}}',
      'templates/deep.hbs:1',
      'has no value: "long" is not defined; the nearest is "longs"',
    ],
  ])
})

t.test('a condition that swaps the letters of a value, or is a getter, is reported', async t => {
  class Shop {
    get isOpen(): boolean {
      return true
    }
  }
  const { found, report } = {
    found: [] as string[],
    report: ({ call, mistake }: ValueMistake) => found.push(`${call} ${mistake}`),
  }
  const reportsOf = (template: string, model: ViewModel) => {
    found.length = 0
    const directory = t.testdir({ 'page.hbs': template })
    const view = createView([{ path: directory }], undefined, root => createValueCheck(root, report))
    void view.render('page', model)
    return found
  }
  const items = 'has no value: "itmes" is not defined; the nearest is "items"'
  const unread =
    'has no value: "isOpen" is not defined: templates do not read methods and getters of an object of the class Shop'
  const mistakes: readonly (readonly [template: string, model: ViewModel, report: string])[] = [
    ['{{#if itmes}}{{/if}}', { items: [] }, `{{#if itmes}} ${items}`],
    ['{{#unless itmes}}{{/unless}}', { items: [] }, `{{#unless itmes}} ${items}`],
    ['{{#with itmes}}{{/with}}', { items: [] }, `{{#with itmes}} ${items}`],
    ['{{#each itmes}}{{/each}}', { items: [] }, `{{#each itmes}} ${items}`],
    ['{{#if no}}{{else if itmes}}{{/if}}', { items: [] }, `{{#if itmes}} ${items}`],
    ['{{#each rows}}{{#if itmes}}{{/if}}{{/each}}', { rows: [{ items: 1 }, { items: 2 }] }, `{{#if itmes}} ${items}`],
    [
      '{{#if user.isAdmni}}{{/if}}',
      { user: { isAdmin: true } },
      '{{#if user.isAdmni}} has no value: "isAdmni" is not defined; the nearest is "isAdmin"',
    ],
    ['{{#if shop.isOpen}}{{/if}}', { shop: new Shop() }, `{{#if shop.isOpen}} ${unread}`],
  ]
  for (const [template, model, expected] of mistakes) t.strictSame(reportsOf(template, model), [expected], template)
  const optional: Readonly<Record<string, ViewModel>> = {
    '{{#if error}}{{/if}}': { errors: [], terror: 1 },
    '{{#if user}}{{/if}}': { users: [], suer: 1 },
    '{{#if form}}{{/if}}': { from: 1 },
    '{{#if title}}{{/if}}': { tile: '', tiled: 1, litte: 1 },
    '{{#if isNext}}{{/if}}': { isText: true },
    '{{#with address}}{{/with}}': { addresses: [] },
    '{{#each rows}}{{#if error}}{{/if}}{{/each}}': { rows: [{ name: '' }], error: 'all' },
    '{{#if constructor}}{{/if}}{{#if @root.user}}{{/if}}': { name: '' },
    '{{#if itmes}}{{/if}}': { itmes: undefined, items: [] },
  }
  for (const [template, model] of Object.entries(optional)) t.strictSame(reportsOf(template, model), [], template)
})

t.test('a list is not explained if its template has changed since it was loaded', async t => {
  const directory = t.testdir({ 'page.hbs': '{{#each repairz}}{{/each}}' })
  const found: ValueMistake[] = []
  const view = createView([{ path: directory }], undefined, root =>
    createValueCheck(root, missing => void found.push(missing)),
  )
  view.load()
  writeFileSync(`${directory}/page.hbs`, '{{#if')
  t.equal(view.render('page', { repairs: [] }), '')
  t.strictSame(found, [])
})

t.test('every mistake in every template is listed at once when they are loaded', async t => {
  const directory = t.testdir({
    templates: {
      'a.hbs': '{{> nowhere}}\n{{nohelper 1}}',
      'b.hbs': '{{{raw}}} {{& raw}}',
      'c.hbs': '{{#nohelper x=1}}{{else}}{{> (lookup . "name")}}{{/nohelper}}',
      'd.hbs': '{{#if}',
      'e.hbs': '{{#if (nohelper 1)}}fine{{/if}}{{#each items as |item|}}{{item.name}}{{/each}}{{this.nohelper}}',
      'f.txt': '{{{ignored}}}',
      'g.hbs': '<p>{{#if items}}</p>',
    },
  })
  const view = createView([{ path: `${directory}/templates` }])
  const error = t.throws(() => view.load(), { code: 'VIEW_TEMPLATE_INVALID' }) as Error
  const lines = error.message.split('\n')
  const advice = ": a bundle adds it by view.addHelper('nohelper', function)"
  for (const expected of [
    'a.hbs: line 1: there is no partial "nowhere": its file would be templates/nowhere.hbs',
    `a.hbs: line 2: there is no helper "nohelper"${advice}`,
    'b.hbs: line 1: output must be escaped: use two braces; HTML of your own comes from a helper, as an HtmlFragment',
    `c.hbs: line 1: there is no helper "nohelper"${advice}`,
    'c.hbs: line 1: a partial must be named, not computed',
    `e.hbs: line 1: there is no helper "nohelper"${advice}`,
  ]) {
    t.ok(lines.includes(`templates/${expected}`), expected)
  }
  t.match(error.message, 'templates/d.hbs: line 1: {{#if} is not closed: an expression ends with }}')
  t.strictSame(
    framesOf(t, () => view.load()).map(line => line.replace(/^.*templates\//, '')),
    [
      'd.hbs:1:6)',
      'g.hbs:1:4)',
      'a.hbs:1:1)',
      'a.hbs:2:1)',
      'b.hbs:1:1)',
      'b.hbs:1:11)',
      'c.hbs:1:1)',
      'c.hbs:1:26)',
    ].concat('e.hbs:1:7)'),
  )
  t.match(error.message, 'g.hbs: line 1: {{#if}} has no end: write {{/if}}')
})

t.test('loading again takes up changed files; a mistake leaves the old ones in use', async t => {
  const directory = t.testdir({ 'page.hbs': 'one' })
  const view = createView([{ path: directory }])
  view.load()
  const { writeFileSync } = await import('node:fs')
  writeFileSync(`${directory}/page.hbs`, 'two')
  t.equal(view.render('page', {}), 'one')
  view.load()
  t.equal(view.render('page', {}), 'two')
  writeFileSync(`${directory}/page.hbs`, '{{> nowhere}}')
  t.throws(() => view.load(), { code: 'VIEW_TEMPLATE_INVALID' })
  t.equal(view.render('page', {}), 'two')
})

t.test('views of the same templates compile them once; each calls helpers of its own', async t => {
  const { prototype } = createRequire(import.meta.url)('handlebars/dist/handlebars.js').JavaScriptCompiler
  const compiled = t.capture(prototype, 'compile', prototype.compile)
  const folder = t.testdir({ 'page.hbs': '{{shout}} {{> part}}', 'part.hbs': '{{name}}', 'other.hbs': 'other' })
  const render = (helpers: Readonly<Record<string, string>>) => {
    const view = createView([{ path: folder }])
    for (const [name, text] of Object.entries(helpers)) view.addHelper(name, () => text)
    view.load()
    compiled()
    return view.render('page', { name: 'Ann' })
  }
  t.equal(render({ shout: 'A' }), 'A Ann')
  t.equal(compiled().length, 2)
  t.equal(render({ shout: 'B' }), 'B Ann')
  t.equal(compiled().length, 0)
  t.equal(render({ shout: 'B', name: 'C' }), 'B C', 'with a helper of the name of a field')
  writeFileSync(path.join(folder, 'part.hbs'), 'changed')
  t.equal(render({ shout: 'B', name: 'C' }), 'B changed')
  t.equal(compiled().length, 1)
})

t.test('the first folder with a template has the one that is used', async t => {
  const directory = t.testdir({
    templates: {
      'alone.hbs': 'alone',
      site: { 'page.hbs': 'my page, {{> site/part}}', 'part.hbs': 'my part' },
      idle: { 'page.hbs': '{{#if' },
    },
    package: { 'page.hbs': 'page, {{> site/part}}', 'part.hbs': 'part', deep: { 'page.hbs': '{{> site/part}}' } },
  })
  const view = createView(
    [{ path: `${directory}/templates` }, { path: `${directory}/package`, bundle: 'site' }],
    ['site'],
  )
  view.load()
  t.equal(view.render('site/page', {}), 'my page, my part')
  t.equal(view.render('site/deep/page', {}), 'my part')
  t.strictSame(view.files(), [
    { name: 'alone', file: `${directory}/templates/alone.hbs` },
    { name: 'site/deep/page', file: `${directory}/package/deep/page.hbs` },
    { name: 'site/page', file: `${directory}/templates/site/page.hbs`, replaces: `${directory}/package/page.hbs` },
    { name: 'site/part', file: `${directory}/templates/site/part.hbs`, replaces: `${directory}/package/part.hbs` },
  ])
  rmSync(`${directory}/templates`, { recursive: true })
  view.load()
  t.equal(view.render('site/page', {}), 'page, part')
  t.throws(() => view.render('site/pag', {}), {
    code: 'VIEW_TEMPLATE_UNKNOWN',
    message: `There is no template "site/pag.hbs" in ${directory}/templates and ${directory}/package; the nearest are "site/page", "site/part".`,
  })
  t.throws(() => view.render('alone', {}), { message: `There is no template "alone.hbs" in ${directory}/templates.` })
})

t.test('a partial of a bundle that is not listed is a mistake with its reason', async t => {
  const directory = t.testdir({
    templates: {
      framework: {
        'error.hbs': '{{#> library/layout}}{{/library/layout}}\n{{> library/nowhere}}{{> framework/nowhere}}',
      },
      library: { 'layout.hbs': '{{> @partial-block}}' },
    },
  })
  const view = createView([{ path: `${directory}/templates` }], ['framework', 'home'])
  const reason = 'the file templates/library/layout.hbs exists, but no bundle "library" is in the list of bundles'
  const error = t.throws(() => view.load(), { code: 'VIEW_TEMPLATE_INVALID' }) as Error
  t.strictSame(error.message.split('\n').slice(1), [
    `templates/framework/error.hbs: line 1: there is no partial "library/layout": ${reason}`,
    'templates/framework/error.hbs: line 2: there is no partial "library/nowhere": its file would be templates/library/nowhere.hbs',
    'templates/framework/error.hbs: line 2: there is no partial "framework/nowhere": its file would be templates/framework/nowhere.hbs',
  ])
})

t.test('a block or an inline partial that no page would show is a mistake', async t => {
  const directory = t.testdir({
    templates: {
      'frame.hbs': '<main>{{> @partial-block}}</main>',
      'parts.hbs': '{{> head}}{{#> content}}usual{{/content}}',
      'outer.hbs': '{{#> frame}}{{> @partial-block}}{{/frame}}',
      'good.hbs': '{{#> outer}}<p>{{/outer}}{{#> parts}} <!-- a --> {{! b }}{{#*inline "head"}}{{/inline}} {{/parts}}',
      'full.hbs': '{{#> parts}}{{#*inline "head"}}{{/inline}}{{#*inline "content"}}text{{/inline}}{{/parts}}',
      'text.hbs': '\n{{#> parts}}text{{#*inline "head"}}{{/inline}}{{/parts}}',
      'typo.hbs': '{{#> parts}}{{#*inline "head"}}{{/inline}}{{#*inline "contnet"}}{{/inline}}{{/parts}}',
      'own.hbs': '{{#*inline "later"}}{{/inline}}',
    },
  })
  const view = createView([{ path: `${directory}/templates` }])
  const error = t.throws(() => view.load(), { code: 'VIEW_TEMPLATE_INVALID' }) as Error
  t.strictSame(error.message.split('\n').slice(1), [
    'templates/text.hbs: line 2: "parts" does not show the block: insert it there with {{> @partial-block}}',
    'templates/typo.hbs: line 1: no template calls the partial "contnet"; the nearest is "content"',
  ])
})

t.test('a layout for all bundles is a file in the folder of the application itself', async t => {
  const page = (text: string) => `{{#> layout title="T"}}{{#*inline "content"}}${text}{{/inline}}{{/layout}}`
  const directory = t.testdir({
    templates: {
      'layout.hbs': '<title>{{title}}</title>{{> content}}',
      framework: { 'error.hbs': page('{{status}}') },
      library: { 'books.hbs': page('books') },
    },
  })
  for (const bundles of [['framework'], ['framework', 'library']]) {
    const view = createView([{ path: `${directory}/templates` }], bundles)
    t.equal(view.render('framework/error', { status: 404 }), '<title>T</title>404')
  }
})

t.test('a layout needs no page in the list that fills it', async t => {
  const templates = {
    'layout.hbs': '{{> content}}',
    home: { 'home.hbs': 'home' },
    idle: { 'broken.hbs': '{{#if' },
    library: { 'books.hbs': '{{#> layout}}{{#*inline "content"}}{{/inline}}{{/layout}}' },
  }
  const load = (files: Files) => createView([{ path: t.testdir(files) }], ['home']).load()
  t.doesNotThrow(() => load(templates))
  t.throws(() => load({ ...templates, library: {} }), {
    message: /layout\.hbs: line 1: there is no partial "content": a layout is/,
  })
})

t.test('a folder of a bundle must be readable', async t => {
  const directory = t.testdir({ file: '' })
  const viewIn = (name: string) =>
    createView([{ path: `${directory}/templates` }, { path: `${directory}/${name}`, bundle: 'site' }])
  t.throws(() => viewIn('nowhere').load(), {
    code: 'VIEW_FOLDER_UNREADABLE',
    message: `The folder of templates ${directory}/nowhere cannot be read (ENOENT).`,
  })
  t.throws(() => createView([{ path: `${directory}/file` }]).load(), { message: /file cannot be read \(ENOTDIR\)\.$/ })
})

t.test('a template that replaces another one has the parts on which others depend', async t => {
  const mistakesOf = (own: Record<string, string>) => {
    const directory = t.testdir({
      templates: { site: own },
      package: {
        'layout.hbs': '<title>{{title}}</title>{{> content}}',
        'box.hbs': '<p>{{> @partial-block}}</p>',
        'page.hbs': '{{#> site/layout}}{{#*inline "content"}}{{> site/box}}{{/inline}}{{/site/layout}}',
      },
    })
    const view = createView([{ path: `${directory}/templates` }, { path: `${directory}/package`, bundle: 'site' }])
    try {
      view.load()
      return []
    } catch (error) {
      return (error as Error).message.replaceAll(`${directory}/`, '').split('\n').slice(1)
    }
  }
  t.strictSame(mistakesOf({ 'layout.hbs': '<main>{{title}}</main>', 'box.hbs': '<b>' }), [
    'templates/site/box.hbs: it replaces package/box.hbs, which renders the partial "@partial-block": render it, too',
    'templates/site/layout.hbs: it replaces package/layout.hbs, which renders the partial "content": render it, too',
  ])
  t.strictSame(mistakesOf({ 'page.hbs': '{{#> site/layout}}<p>{{/site/layout}}' }), [
    'templates/site/page.hbs: line 1: "site/layout" does not show the block: insert it there with {{> @partial-block}}',
    'templates/site/page.hbs: it replaces package/page.hbs, which has the inline partial "content" for "site/layout": define it, too',
  ])
  t.strictSame(mistakesOf({ 'page.hbs': '{{> nowhere}}' }), [
    'templates/site/page.hbs: line 1: there is no partial "nowhere": its file would be templates/nowhere.hbs',
  ])
  t.strictSame(mistakesOf({ 'layout.hbs': '<main>{{> content}}</main>', 'page.hbs': 'a page without a layout' }), [])
  t.match(mistakesOf({ 'layout.hbs': '{{#if}' }), [/^templates\/site\/layout\.hbs: line 1: \{\{#if\} is not closed/])
})

async function wait(turns: number, text: string): Promise<string> {
  for (let turn = 0; turn < turns; turn++) await new Promise(setImmediate)
  return text
}

t.test('without load, the first render loads the templates', async t => {
  const view = createView([{ path: t.testdir({ 'b.hbs': 'page b', 'a.hbs': 'page a' }) }])
  t.strictSame(view.files(), [])
  t.equal(view.render('b', {}), 'page b')
  t.strictSame(
    view.files().map(({ name }) => name),
    ['a', 'b'],
  )
})

t.test('templates of core bundles are checked as soon as there are others, or globals', async t => {
  const directory = t.testdir({ templates: {}, core: { 'page.hbs': 'page', 'wrong.hbs': '{{> nowhere}}' } })
  const create = () =>
    createView([{ path: `${directory}/templates` }, { path: `${directory}/core`, bundle: 'core', isCore: true }])
  t.equal(create().render('core/page', {}), 'page')
  const view = create()
  view.addGlobal('site', 'Books')
  t.throws(() => view.load(), { code: 'VIEW_TEMPLATE_INVALID' })
  writeFileSync(`${directory}/templates/home.hbs`, '{{> core/page}}')
  t.throws(() => create().load(), { code: 'VIEW_TEMPLATE_INVALID' })
})

t.test('a helper keeps its name', async t => {
  const handlebars: typeof import('handlebars') = createRequire(import.meta.url)('handlebars')
  const view = createView([{ path: t.testdir({ 'page.hbs': '{{show}}' }) }])
  view.addHelper('show', () => 'first')
  t.throws(() => view.addHelper('show', () => 'second'), {
    code: 'VIEW_HELPER_TAKEN',
    message:
      /^The helper "show" cannot be added: there is one of that name already, added in .*view\.test\.[jt]s:\d+\. Choose/,
  })
  t.equal(view.render('page', {}), 'first')
  for (const name of Object.keys(handlebars.create().helpers)) {
    t.throws(() => view.addHelper(name, () => ''), {
      code: 'VIEW_HELPER_TAKEN',
      message: `The helper "${name}" cannot be added: Handlebars has one of that name. Choose another name.`,
    })
  }
})

t.test('named values have the order of the template', async t => {
  const view = viewOf(t, { 'page.hbs': '{{show b=1 a=2 c=3}} {{show}} {{show a=1}}' }, view => {
    view.addHelper('show', ({ named }) => Object.keys(named).join('-'))
  })
  t.equal(view.render('page', {}), 'b-a-c  a')
})
