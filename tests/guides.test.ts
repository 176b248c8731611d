import path from 'node:path'
import { t } from 'tap'
import { createApplication } from '#bin/new-application.ts'
import { followGuides } from './support/follow-guides.ts'
import { applyDiff, parseGuide } from './support/guide.ts'
import { readRows, readSections } from './support/markdown.ts'

// `npm run proof` follows all guides.
t.test('every block of code in the guide to listeners works as shown', t => followGuides(t, ['listener.md']))

t.test('the guide to applications lists the files of a new one', async t => {
  const files = createApplication(path.join(t.testdir(), 'my-site'), 'file:the-package')
  const rows = readRows(readSections('docs/guides/application.md').get('The files') ?? '')
  const listed = rows.flatMap(([names = '']) => names.match(/[^`,\s]+/g) ?? [])
  t.strictSame(listed.toSorted(), files.toSorted())
})

t.test('a block or a change that cannot be applied is an error', async t => {
  t.throws(() => parseGuide('- a list\n  ```ts\n  hidden()\n  ```\n'), /cannot be read/)
  t.throws(() => applyDiff('one\ntwo', '--- list.ts\n three\n+four\n'), /no line "three"/)
})
