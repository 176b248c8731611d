import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { t } from 'tap'
import { runsTypeScript } from '#bin/application/sources.ts'
import { createApplication } from '#bin/package/new-application.ts'
import { startProgram } from '#tests/bin/site-process.ts'
import { makeApplication } from '#tests/support/new-application.ts'
import { listRecipes, proven } from './cookbook/recipes.ts'
import { followGuides } from './support/follow-guides.ts'
import { applyDiff, parseGuide, readGuide } from './support/guide.ts'
import { readRows, readSections } from './support/markdown.ts'

// `npm run proof` follows all guides.
t.test('every block of code in the guide to listeners works as shown', t => followGuides(t, ['listener.md']))

t.test('the guide to applications lists the files of a new one', async t => {
  const files = createApplication(path.join(t.testdir(), 'my-site'), 'file:the-package')
  const rows = readRows(readSections('docs/guides/application.md').get('The files') ?? '')
  const listed = rows.flatMap(([names = '']) => names.match(/[^`,\s]+/g) ?? [])
  t.strictSame(listed.toSorted(), files.toSorted())
})

t.test('the program in one file of the README and the first guide serves', async t => {
  const [program, same] = ['README.md', 'docs/guides/first-page.md'].map(
    document => readGuide(document).find(({ file }) => file === 'app.ts')?.text,
  )
  t.equal(program, same, 'both show the same')
  const directory = makeApplication(t)
  const file = path.join(directory, runsTypeScript ? 'app.ts' : 'app.js')
  writeFileSync(file, String(program))
  const site = startProgram(t, [process.execPath, file, '--port=0'], {})
  const url = await site.url()
  t.equal(await (await fetch(`${url}/hello/Ada`)).text(), 'Hello, Ada!')
  t.match(await (await fetch(`${url}/_profiler/`)).text(), '/hello/Ada')
  site.child.kill('SIGINT')
  t.equal(await site.end(), 0)
})

t.test('each recipe of the cookbook has a proof', async t => {
  t.strictSame(listRecipes(), Object.values(proven).flat())
})

t.test('a block or a change that cannot be applied is an error', async t => {
  t.throws(() => parseGuide('- a list\n  ```ts\n  hidden()\n  ```\n'), /cannot be read/)
  t.throws(() => applyDiff('one\ntwo', '--- list.ts\n three\n+four\n'), /no line "three"/)
})
