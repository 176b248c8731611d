import { readFileSync } from 'node:fs'
import path from 'node:path'
import { type Bundle, createFrameworkBundle } from 'sinfonietta'
import { createProfilerBundle } from 'sinfonietta/profiler'
import { createRequest, createTestKernel } from 'sinfonietta/testing'
import { type Test, t } from 'tap'
import { Trace } from '#bundles/profiler/record/trace.ts'
import { MemoryProfileStorage } from '#bundles/profiler/store/memory-profile-storage.ts'
import { createRenderTracer, renderPart } from '#bundles/profiler/subjects/templates/record.ts'
import { waitForStored } from '#bundles/profiler/testing/create-profiled-test-kernel.ts'
import { siteBundle } from '#bundles/site/site-bundle.ts'
import { Response } from '#lib/http/response.ts'
import { createTraceableView } from '#lib/view/traceable-view.ts'
import { createView, HtmlFragment, type View } from '#lib/view/view.ts'
import { createProfile, createShown } from '#tests/support/create-profile.ts'
import { plainEquals, toText } from '#tests/support/html.ts'
import { createProfiledKernel, profilePage } from '#tests/support/profiled-kernel.ts'
import { createProject } from '#tests/support/project.ts'

function createTrace(): Trace {
  return new Trace('abc123', createRequest(), undefined)
}

function viewOf(
  t: Test,
  trace: Trace | undefined,
  files: Record<string, string>,
  prepare?: (view: View) => void,
): View {
  const view = createTraceableView(
    createView([{ path: t.testdir(files) }]),
    createRenderTracer(() => trace),
  )
  prepare?.(view)
  view.load()
  return view
}

t.test('a page and its partials become a tree', async t => {
  const trace = createTrace()
  const view = viewOf(t, trace, {
    'page.hbs': '{{#> layout}}{{> item}}{{/layout}}{{> item}}',
    'layout.hbs': '<{{> @partial-block}}>{{> footer}}',
    'item.hbs': 'i',
    'footer.hbs': 'f',
  })
  t.equal(view.render('page', { title: 1, text: 2 }), '<i>fi')
  t.equal(view.render('footer', {}), 'f')
  t.strictSame(
    view.files().map(({ name }) => name),
    ['footer', 'item', 'layout', 'page'],
  )
  const { renders } = renderPart.find(trace) ?? { renders: [] }
  t.same(
    renders.map(({ name, parent, keys }) => [name, parent, keys]),
    [
      ['page', -1, ['title', 'text']],
      ['layout', 0, undefined],
      ['item', 1, undefined],
      ['footer', 1, undefined],
      ['item', 0, undefined],
      ['footer', -1, []],
    ],
  )
  for (const { start, duration } of renders) t.ok(start >= 0 && duration >= 0)
})

t.test('the profiler traces a view that another bundle has wrapped', async t => {
  const rendered: string[] = []
  const countingBundle: Bundle = {
    name: 'counting',
    decorate: ({ view, ...foundation }) => ({
      ...foundation,
      view: {
        addGlobal: (name, value) => view.addGlobal(name, value),
        globals: () => view.globals(),
        addHelper: (name, helper) => view.addHelper(name, helper),
        decorateTemplates: decorate => view.decorateTemplates(decorate),
        load: () => view.load(),
        files: () => view.files(),
        render(name, model, request) {
          rendered.push(name)
          return view.render(name, model, request)
        },
      },
    }),
    register() {},
  }
  const plain = await createTestKernel({ bundles: [countingBundle, createFrameworkBundle(), siteBundle] })
  t.teardown(() => plain.close())
  await plain.client.get('/partnership')
  t.strictSame(rendered.splice(0), ['site/partnership'])
  const storage = new MemoryProfileStorage()
  const bundles = [countingBundle, createFrameworkBundle(), siteBundle, createProfilerBundle({ storage })]
  const profiled = await createTestKernel({ bundles })
  t.teardown(() => profiled.close())
  const response = await profiled.client.get('/partnership')
  t.strictSame(rendered, ['site/partnership'])
  const { profile } = await waitForStored(storage, String(response.headers.get('x-debug-token')))
  t.match(profile.data.templates, { renders: [{ name: 'site/partnership', parent: -1 }] })
})

t.test('templates of a traced view can be decorated, too', async t => {
  const trace = createTrace()
  const view = viewOf(t, trace, { 'page.hbs': 'p{{> item}}', 'item.hbs': 'i' }, view =>
    view.decorateTemplates((name, template) => (model, options) => `[${name} ${template(model, options)}]`),
  )
  t.equal(view.render('page', {}), '[page p[item i]]')
  t.equal(renderPart.find(trace)?.renders.length, 2)
})

t.test('a template that throws is marked, with its callers; the next render is not its partial', async t => {
  const trace = createTrace()
  const view = viewOf(t, trace, { 'page.hbs': '{{> fine}}{{> bad}}', 'fine.hbs': '', 'bad.hbs': '{{missing}}' })
  t.throws(() => view.render('page', {}), { code: 'VIEW_RENDER_FAILED' })
  await view.render('fine', {})
  t.same(
    renderPart.find(trace)?.renders.map(({ name, parent, hasFailed }) => [name, parent, hasFailed]),
    [
      ['page', -1, true],
      ['fine', 0, undefined],
      ['bad', 0, true],
      ['fine', -1, undefined],
    ],
  )
})

t.test('after a thousand renders, further renders are only counted', async t => {
  const trace = createTrace()
  const view = viewOf(t, trace, {
    'page.hbs': '{{#each list}}{{> item}}{{/each}}',
    'item.hbs': '{{> leaf}}',
    'leaf.hbs': '.',
  })
  t.equal(view.render('page', { list: Array(600).fill(0) }), '.'.repeat(600))
  t.equal(renderPart.find(trace)?.renders.length, 1000)
  t.equal(renderPart.find(trace)?.omitted, 201)
})

t.test('at most twenty names of a model are kept', async t => {
  const trace = createTrace()
  const view = viewOf(t, trace, { 'page.hbs': '', 'outer.hbs': '{{page}}' })
  await view.render('page', Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`key${index}`, index])))
  t.same(
    renderPart.find(trace)?.renders.map(({ keys }) => keys?.length),
    [20],
  )
})

t.test('names of globals follow those of the model; the wait for a global is not the render after it', async t => {
  const trace = createTrace()
  const view = viewOf(t, trace, { 'page.hbs': '{{@user}}{{slow}}' }, view => {
    view.addGlobal('user', () => Promise.resolve('Ada'))
    view.addHelper('slow', () => {
      const end = performance.now() + 50
      while (performance.now() < end);
      return ''
    })
  })
  t.equal(await view.render('page', { title: '' }, createRequest()), 'Ada')
  const [page] = renderPart.find(trace)?.renders ?? []
  t.strictSame(page?.keys, ['title', '@user'])
  t.ok(Number(renderPart.find(trace)?.waited) < Number(page?.duration))
})

t.test('waiting for fragments is measured, also when one fails', async t => {
  const trace = createTrace()
  const turns = async (count: number) => {
    for (let turn = 0; turn < count; turn++) await new Promise(resolve => setTimeout(resolve, 2))
    return 'late'
  }
  const view = viewOf(t, trace, { 'page.hbs': '{{later}}', 'bad.hbs': '{{fails}}' }, view => {
    view.addHelper('later', () => new HtmlFragment(turns(5)))
    view.addHelper('fails', () => new HtmlFragment(turns(1).then(() => Promise.reject(new Error('no fragment')))))
  })
  t.equal(await view.render('page', {}), 'late')
  const waited = renderPart.find(trace)?.waited ?? 0
  t.ok(waited > 5)
  await t.rejects(Promise.resolve(view.render('bad', {})), { message: 'no fragment' })
  t.ok((renderPart.find(trace)?.waited ?? 0) > waited)
})

t.test('without a trace, templates are rendered as usual', async t => {
  const view = viewOf(t, undefined, { 'page.hbs': '{{later}}{{> item}}', 'item.hbs': 'i' }, view =>
    view.addHelper('later', () => new HtmlFragment(Promise.resolve('late'))),
  )
  t.equal(await view.render('page', {}), 'latei')
})

t.test('the panel shows the tree of a page of the site', async t => {
  const kernel = await createProfiledKernel(t)
  const profile = await kernel.profileOf(await kernel.client.get('/partnership'))
  t.ok(kernel.panel('templates').hasContent(profile))
  t.same(kernel.panel('templates').badge?.(profile), { text: '7', level: 'plain' })
  const page = await kernel.show('templates', profile)
  t.match(
    page,
    /<th scope="row" class="full">\s*<code><span class="place" data-at="[^"]+site\/layout.hbs:1:1">site\/layout<\/span><\/code>\s*<\/th>\s+<td class="number" data-label="renders">1<\/td>/,
  )
  t.match(page, /└\u00a0<\/span><code><span class="place" data-at="[^"]+">site\/layout/)
  t.match(page, /\u00a0\u00a0├\u00a0<\/span><code><span class="place" data-at="[^"]+">site\/header/)
})

t.test('the application may replace templates, also of the profiler; panel and log name them', async t => {
  const copy = readFileSync('templates/profiler/panels/templates.hbs', 'utf8')
  const directory = createProject(t.testdir(), {
    'templates/framework/error.hbs': '<h1>{{title}}</h1>',
    'templates/profiler/panels/templates.hbs': `<h1>My panel</h1>${copy}`,
  })
  const kernel = await createProfiledKernel(t, { directory, variables: { EDITOR_URL: 'x:{file}' } })
  const warnings = kernel.records.filter(({ message }) => message.startsWith('The application replaces'))
  t.hasStrict(warnings, [
    {
      channel: 'profiler',
      level: 'warning',
      message: 'The application replaces templates of the profiler: templates/profiler/panels/templates.hbs.',
    },
  ])
  const renders = [
    { name: 'framework/error', parent: -1 },
    { name: 'gone', parent: -1 },
  ]
  const html = await kernel.show('templates', createProfile({ templates: { renders } }))
  t.match(html, '<h1>My panel</h1>')
  t.match(plainEquals(html), `<a class="place" href="x:${directory}/templates/framework/error.hbs"`)
  t.match(html, `<span class="soft">replaces ${path.resolve('templates/framework/error.hbs')}</span>`)
  t.match(html, /<th scope="row" class="full">\s*<code><span class="place">gone<\/span><\/code>\s*<\/th>/)
})

t.test('the items of a list are one line with the time of each; long trees are cut', async t => {
  const kernel = await createProfiledKernel(t)
  const item = (start: number, name = 'item') => ({ name, parent: 0, start, duration: 10 })
  const page = { name: 'page', parent: -1, start: 5, duration: 100, keys: ['title', 'list'] }
  const renders = [page, item(10), item(20), item(30), item(50, 'other')]
  const html = await kernel.show('templates', createProfile({ templates: { renders } }))
  t.match(html, /<tr id="render-1">[\s\S]*3 times<\/span><i id="render-2"><\/i><i id="render-3"><\/i>/)
  t.match(html, '<rect x="50" width="100" height="8"/><rect x="150" width="100" height="8"/>')
  t.match(html, '<code>title</code> <code>list</code>')
  t.notMatch(html, 'By template', 'each template is one line of the tree')
  const many = Array.from({ length: 300 }, (_, index) => item(index, `item-${index}`))
  const cut = await kernel.show('templates', createProfile({ templates: { renders: [page, ...many] } }))
  t.match(cut, '101 more renders are not listed')
  t.match(cut, 'By template', 'the tree is cut')
  t.equal(cut.match(/id="render-/g)?.length, 200)
})

t.test('a render without a request is traced by the context; each trace has its own renders', async t => {
  const kernel = await profilePage(t, () => Promise.reject(new Error('Boom')))
  const response = kernel.response
  const main = await kernel.profileOf(response)
  t.notOk(kernel.panel('templates').hasContent(main))
  t.match(await kernel.show('templates', main), 'No templates rendered.')
  t.same(kernel.panel('templates').badge?.(main), { text: '', level: 'plain' })
  const sub = await kernel.storage.find(main.children[0] ?? '')
  const names = sub?.profile.collectors.templates?.renders.map(({ name }) => name)
  t.strictSame(names, ['framework/error'], 'the profiler shows itself unseen')
})

t.test('names in a model are masked and cut', async t => {
  const kernel = await createProfiledKernel(t, {
    handlers: {
      '/page': request => Response.html(kernel.app.view.render('framework/error', model(), request) as string),
    },
  })
  const model = () => ({
    title: '',
    status: '',
    statusText: '',
    report: '',
    'https://user:hunter2@host': 1,
    [`long${'g'.repeat(200)}`]: 1,
  })
  const { data } = await kernel.profileOf(await kernel.client.get('/page'))
  t.notMatch(JSON.stringify(data), 'hunter2')
  t.match(data.templates, {
    renders: [{ keys: ['title', 'status', 'statusText', 'report', 'https://******@host', /^long{96}…$/] }],
  })
})

t.test('the panel distinguishes the template that threw from its callers', async t => {
  const kernel = await createProfiledKernel(t)
  const render = (name: string, parent: number, hasFailed?: boolean) => ({ name, parent, duration: 1, hasFailed })
  const renders = [render('page', -1, true), render('list', 0, true), render('list', 1, true), render('other', 0)]
  const shown = createShown({ templates: { renders, omitted: 3, waited: 1500 } })
  const view = await kernel.panel('templates').toView(shown)
  t.hasStrict(view, {
    calls: 7,
    renderTime: '1.0 ms',
    waited: '1.5 s',
    templates: [
      { name: 'list', count: 2, own: '1.0 ms', time: '1.0 ms', share: '100 %' },
      { name: 'other', count: 1 },
      { name: 'page', count: 1, own: '0 ms', time: '1.0 ms' },
    ],
  })
  t.same(kernel.panel('templates').badge?.(shown.profile), { text: '7', level: 'error' })
  const page = await kernel.show('templates', shown.profile)
  t.equal(page.match(/threw/g)?.length, 1)
  t.equal(page.match(/not finished/g)?.length, 2)
  t.match(page, '3 more renders: counted')
  t.match(page, 'Waiting for sub-requests')
})

t.test('an error in a partial is shown with the place, the source and a link to the editor', async t => {
  const directory = t.testdir({
    templates: { shop: { 'page.hbs': '<ul>\n{{> shop/row}}\n</ul>', 'row.hbs': '<li>\n  {{price (tax 7)}}\n</li>' } },
  })
  const shop: Bundle = {
    name: 'shop',
    register({ routes, view }) {
      view.addHelper('price', ({ positional: [value] }) => value)
      view.addHelper('tax', () => {
        throw new RangeError('There is no tax.')
      })
      routes.add({ name: 'shop', path: '/shop', controller: () => Response.html(view.render('shop/page', {})) })
    },
  }
  const variables = { EDITOR_URL: 'vscode' }
  const { client, profileOf } = await createProfiledKernel(t, { directory, bundles: [shop], variables })
  const response = await client.get('/shop')
  const { collectors, summary } = await profileOf(response)
  t.match(collectors.exception, {
    exceptions: [
      {
        name: 'VIEW_RENDER_FAILED',
        frames: [
          { call: 'template shop/row', file: 'templates/shop/row.hbs', line: 2, column: 11, origin: 'application' },
          { call: 'template shop/page', file: 'templates/shop/page.hbs', line: 2, column: 1, origin: 'application' },
        ],
        cause: { name: 'RangeError', message: 'There is no tax.' },
      },
    ],
    excerpts: [
      { file: 'templates/shop/row.hbs', line: 2, start: 1, lines: ['<li>', '  {{price (tax 7)}}', '</li>'] },
      { file: 'templates/shop/page.hbs', line: 2 },
    ],
  })
  t.match(plainEquals(response.text), /<a class="place" href="vscode:\/\/file\/[^"]*\/templates\/shop\/row\.hbs:2:11"/)
  t.match(toText(response.text), /VIEW_RENDER_FAILED .* template shop\/row templates\/shop\/row\.hbs:2:11/)
  t.match(response.headers.get('x-debug-exception-file'), /row\.hbs:2$/)
  const { text } = await client.get(`/_profiler/${summary.token}.md?panel=exception`)
  t.match(text, '`template shop/row` at `templates/shop/row.hbs:2:11`')
  t.match(text, '>    2 |   {{price (tax 7)}}')
})
