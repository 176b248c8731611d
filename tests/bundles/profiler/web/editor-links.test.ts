import t from 'tap'
import { createEditorLinks, EditorLinks } from '#bundles/profiler/panels/editor-links.ts'
import { knownEditors, profilerSettings } from '#bundles/profiler/settings.ts'
import { ControllerResolver, defineController } from '#kernel/controller.ts'
import { Settings } from '#lib/env/settings.ts'
import { packageDirectory } from '#lib/package.ts'
import { RouteCollection } from '#lib/routing/route-collection.ts'

t.test('a place is a link that opens it in the editor', async t => {
  const links = new EditorLinks({ editorUrl: 'x://open?file={file}&at={line}:{column}', directory: '/srv/app' })
  t.equal(links.link('bundles/a b/é&c.ts', 7, 3), 'x://open?file=/srv/app/bundles/a%20b/%C3%A9%26c.ts&at=7:3')
  t.equal(links.link('/usr/lib/x.js'), 'x://open?file=/usr/lib/x.js&at=1:1')
})

t.test('a file of the package is opened where it is installed', async t => {
  const links = new EditorLinks({ editorUrl: 'x:{file}', directory: '/srv/app' })
  t.equal(links.link('sinfonietta/lib/a.ts'), `x:${packageDirectory}/lib/a.ts`)
  const here = new EditorLinks({ editorUrl: 'x:{file}', directory: packageDirectory })
  t.equal(here.link('sinfonietta/a.ts'), `x:${packageDirectory}/sinfonietta/a.ts`, 'here files have no such prefix')
})

t.test('paths are mapped to the folders of the editor', async t => {
  const editorPaths = [{ from: '/srv/app', to: '/home/me/app' }]
  const links = new EditorLinks({ editorUrl: 'x:{file}', editorPaths, directory: '/srv/app' })
  t.equal(links.link('lib/a.ts'), 'x:/home/me/app/lib/a.ts')
  t.equal(links.link('/srv/app'), 'x:/home/me/app')
  t.equal(links.link('/srv/application/a.ts'), 'x:/srv/application/a.ts')
})

t.test('without an editor, and for a place that is not a file, there is no link', async t => {
  t.equal(new EditorLinks({ directory: '/srv' }).link('a.ts'), '')
  const links = new EditorLinks({ editorUrl: 'x:{file}', directory: '/srv' })
  for (const file of [undefined, '', 'node:fs', 'evalmachine.<anonymous>:1', 'long…']) t.equal(links.link(file), '')
})

/** The profiler's settings with these texts. */
function read(variables: Readonly<Record<string, string>>) {
  const settings = new Settings({ variables })
  settings.declare('profiler', profilerSettings)
  settings.check()
  return { settings, ...settings.of(profilerSettings) }
}

/** The other settings, which are not set. */
const recording = {
  PROFILER_MAILS: 'send',
  PROFILER_NAME: undefined,
  PROFILER_RELOAD: true,
  PROFILER_URL: undefined,
  PROFILER_SAMPLE: 1,
  PROFILER_ONLY_ERRORS: false,
  PROFILER_SLOWER_THAN: undefined,
}

t.test('settings name an editor or a link of your own, and the folders of the editor', async t => {
  const { settings, ...values } = read({
    EDITOR_URL: 'Cursor',
    EDITOR_PATHS: '/srv/app/=/home/me/app',
    PROFILER_MCP: 'yes',
    PROFILER_MCP_REPLAY: '1',
  })
  t.strictSame(values, {
    EDITOR_URL: 'cursor://file{file}:{line}:{column}',
    EDITOR_PATHS: [{ from: '/srv/app', to: '/home/me/app' }],
    PROFILER_MCP: true,
    PROFILER_MCP_REPLAY: true,
    ...recording,
  })
  const routes = new RouteCollection()
  routes.add({ name: 'a', path: '/a', controller: 'a_show' })
  const controllers = new ControllerResolver()
  const view = { files: () => [{ name: 'shop/cart', file: '/srv/app/templates/shop/cart.hbs' }] }
  const links = createEditorLinks({ settings, directory: '/srv/app', routes, controllers, view })
  t.match(links.viewController('a_show'), { place: 'a_show', link: /editor-links\.test\.ts:\d+:\d+$/ })
  t.equal(links.link('a.ts', 7), 'cursor://file/home/me/app/a.ts:7:1')
  const { settings: _, ...defaults } = read({})
  const off = { EDITOR_URL: undefined, EDITOR_PATHS: [], PROFILER_MCP: false, PROFILER_MCP_REPLAY: false }
  t.strictSame(defaults, { ...off, ...recording })
})

t.test('each known editor opens a file at a line', async t => {
  const wrong = knownEditors.filter(({ name, pattern }) => {
    const { EDITOR_URL } = read({ EDITOR_URL: name })
    return EDITOR_URL !== pattern || !/^[a-z]+:\/\/.*\{file\}.*\{line\}.*\{column\}$/.test(pattern)
  })
  t.strictSame(wrong, [])
})

t.test('links to an editor have a harmless scheme', async t => {
  const own = 'editor://open?file={file}&line={line}'
  t.equal(read({ EDITOR_URL: own }).EDITOR_URL, own)
  const harmful = ['javascript:alert(`{file}`)', 'JavaScript://{file}', 'data:text/html,{file}']
  for (const editor of [...harmful, '{file}', 'x://y', 'x://{file} y', 'emacs']) {
    t.throws(() => read({ EDITOR_URL: editor }), { message: /EDITOR_URL .* is not vscode, / }, editor)
  }
  for (const paths of ['/srv', '=/home', '/srv=', '/=/', 'srv=/home']) {
    t.throws(() => read({ EDITOR_PATHS: paths }), { message: /EDITOR_PATHS .* is not a pair of folders/ }, paths)
  }
})

t.test('a place has the text, and what the script opens', async t => {
  const links = new EditorLinks({ directory: '/srv/app' })
  const caller = { file: '/srv/app/a.ts', line: 7, column: 3, function: 'f' }
  t.hasStrict(links.view(caller), { call: 'f', place: 'a.ts:7', link: '', at: '3' })
  t.hasStrict(links.viewWhole('a.ts:7:3', caller), { call: 'f', place: 'a.ts:7:3', link: '', at: '0' })
  t.hasStrict(links.viewName('home', caller), { call: '', place: 'home', link: '', at: 'a.ts:7:3' })
  t.hasStrict(links.viewName('home'), { call: '', place: 'home', link: '', at: '' })
  t.hasStrict(links.viewText('a.ts:7'), { call: '', place: 'a.ts:7', link: '', at: '1' })
  t.hasStrict(links.viewText('unknown'), { call: '', place: 'unknown', link: '', at: '' })
  t.hasStrict(links.viewFile('b/a.ts:7'), { call: '', place: 'a.ts:7', link: '', at: 'b/a.ts:7:1' })
  t.hasStrict(links.viewText('b\nc/a.ts:7'), { call: '', place: 'b\nc/a.ts:7', link: '', at: '1' })
  t.hasStrict(links.viewFile('b\nc/a.ts:7'), { call: '', place: 'a.ts:7', link: '', at: 'b\nc/a.ts:7:1' })
  for (const found of [links.findController('home'), links.findRoute('home'), links.findTemplate('home')])
    t.equal(found, '', 'not known')
  t.equal(links.viewFile(''), false)
  t.equal(links.view({ file: 'node:fs', line: 1 }).at, '', 'no file')
  const own = new EditorLinks({ editorUrl: 'x:{file}', directory: '/srv/app' })
  t.hasStrict(own.viewName('home', caller), { call: '', place: 'home', link: 'x:/srv/app/a.ts', at: '' })
  const list = { file: '/srv/app/list.ts', line: 9, function: 'list' }
  t.hasStrict(links.view({ ...list, via: [caller], callers: [{ file: '/srv/app/page.ts', line: 5 }] }), {
    place: 'list:9',
    at: 'list.ts:9:1',
    via: [{ place: 'f:7', at: 'a.ts:7:3' }],
    callers: [{ place: 'page.ts:5' }],
  })
  t.hasStrict(links.viewCaller({ ...list, isIn: true }), { place: 'list:9', isIn: true, via: [] })
})

t.test('routes, registered controllers and templates have places', async t => {
  const directory = process.cwd()
  const routes = new RouteCollection()
  const own = defineController('own', () => undefined)
  routes.add({ name: 'a', path: '/a', controller: own })
  const controllers = new ControllerResolver()
  controllers.register(
    'part',
    defineController('part', () => undefined),
  )
  controllers.register('own', own)
  controllers.register('foreign', { name: 'foreign', arguments: [], call: () => undefined })
  const view = { files: () => [{ name: 'shop/cart', file: `${directory}/templates/shop/cart.hbs` }] }
  const links = new EditorLinks({ directory, routes, controllers, view })
  const here = /^tests\/bundles\/profiler\/web\/editor-links\.test\.ts:\d+$/
  for (const found of [links.findRoute('a'), links.findController('own'), links.findController('part')])
    t.match(found, here)
  t.equal(links.findController('foreign'), '')
  t.equal(links.findTemplate('shop/cart'), 'templates/shop/cart.hbs:1')
  t.match(links.viewTemplate('shop/cart'), { place: 'shop/cart', at: 'templates/shop/cart.hbs:1:1' })
  t.match(links.viewTemplate('gone'), { place: 'gone', at: '' })
})
