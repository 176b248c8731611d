import t from 'tap'
import { EditorLinks } from '#bundles/profiler/web/editor-links.ts'
import { packageDirectory } from '#lib/package.ts'

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
