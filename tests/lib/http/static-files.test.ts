import { createHash } from 'node:crypto'
import { symlinkSync, writeFileSync } from 'node:fs'
import { t } from 'tap'
import { StaticFiles, versionOf } from '../../../lib/http/static-files.ts'

t.test('the files in and below a directory have paths below /assets; dot files and links have none', async t => {
  const directory = t.testdir({ 'site.css': 'a{}', '.secret': 'x', deep: { 'icon.svg': '<svg/>' } })
  symlinkSync('/etc/passwd', `${directory}/passwd`)
  const files = new StaticFiles()
  files.add('site', directory)
  t.equal(files.find('/assets/site/site.css')?.file, `${directory}/site.css`)
  t.equal(files.find('/assets/site/deep/icon.svg')?.file, `${directory}/deep/icon.svg`)
  for (const path of [
    '/assets/site/.secret',
    '/assets/site/passwd',
    '/assets/site/../x',
    '/assets/site/',
    '/assets/site/deep',
    '/assets/1a2b3c4d/site/.secret',
    '/assets/1a2b3c4d/site/../x',
    '/assets/1a2b3c4d/',
    '/assets/1a2b3c4d/1a2b3c4d/site/site.css',
    '/assets/1A2B3C4D/site/site.css',
    '/assets/1a2b3c4/site/site.css',
    '/assets//site/site.css',
  ]) {
    t.equal(files.find(path), undefined, path)
  }
})

t.test('the URL of a file changes with its content, once the files are listed again', async t => {
  const directory = t.testdir({ 'a.css': 'one' })
  const files = new StaticFiles()
  files.add('site', directory)
  const first = files.url('site/a.css')
  const version = versionOf(createHash('sha256').update('one').digest('hex'))
  t.equal(first, `/assets/${version}/site/a.css`)
  t.strictSame(files.find(String(first)), { file: `${directory}/a.css`, version })
  const other = { file: `${directory}/a.css`, version: '00000000' }
  t.strictSame(files.find('/assets/00000000/site/a.css'), other, 'whether it is right, is for others to say')
  t.strictSame(files.find('/assets/site/a.css'), { ...other, version: undefined })
  writeFileSync(`${directory}/a.css`, 'two')
  t.equal(files.url('site/a.css'), first)
  files.load()
  t.not(files.url('site/a.css'), first)
  t.equal(files.url('site/none.css'), undefined)
})

t.test('a folder may be named like a version', async t => {
  const directory = t.testdir({ one: { site: { 'a.css': 'folder' } }, other: { 'a.css': 'site' } })
  const files = new StaticFiles()
  files.add('deadbeef', `${directory}/one`)
  files.add('site', `${directory}/other`)
  t.equal(files.find('/assets/deadbeef/site/a.css')?.file, `${directory}/one/site/a.css`)
  t.equal(files.find('/assets/deadbeef/deadbeef/site/a.css')?.version, 'deadbeef')
})
