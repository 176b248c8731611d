import { createHash } from 'node:crypto'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { t } from 'tap'
import { StaticFiles, versionOf } from '#lib/http/static-files.ts'

t.test('the files in and below a directory have paths below /assets; dot files and links have none', async t => {
  const directory = t.testdir({ 'site.css': 'a{}', '.secret': 'x', deep: { 'icon.svg': '<svg/>' } })
  symlinkSync('/etc/passwd', `${directory}/passwd`)
  const files = new StaticFiles()
  files.add('site', directory)
  t.equal(files.find('/assets/site/site.css')?.file, `${directory}/site.css`)
  t.equal(files.find('/assets/site/deep/icon.svg')?.file, `${directory}/deep/icon.svg`)
  for (const target of [
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
    t.equal(files.find(target), undefined, target)
  }
})

t.test('hidden files and backups are not served, at any depth, with a version or without', async t => {
  const names = [
    ...['.env', '.git/config', '.hidden/deep/a.txt', 'deep/.git/config', 'deep/.b/c', '..a', 'deep/...'],
    ...['a.css~', 'deep/a.css~', '#a.css#', 'a.php.bak', 'a.BAK', 'a.css.backup', 'a.old', 'a.css.orig', 'a.css.rej'],
    ...['a.css.save', 'a.css.swp', '.a.css.swp', 'a.css.swo', 'a.tmp', 'css.old/a.css', 'css~/a.css'],
  ]
  const served = ['a.css', 'a#b.css', 'a.b/c.css', 'bak.css', 'deep/~a.css', 'swp', 'a.swf', 'site.bak.css']
  const directory = t.testdir()
  for (const name of [...names, ...served]) {
    mkdirSync(path.dirname(path.join(directory, name)), { recursive: true })
    writeFileSync(path.join(directory, name), name)
  }
  const files = new StaticFiles()
  files.add('site', directory)
  for (const name of names) {
    t.equal(files.find(`/assets/site/${name}`), undefined, name)
    t.equal(files.find(`/assets/00000000/site/${name}`), undefined, name)
    t.equal(files.url(`site/${name}`), undefined, name)
  }
  for (const name of served) {
    t.strictSame(files.find(`/assets/site/${name}`), { file: path.join(directory, name), version: undefined })
    t.match(files.find(String(files.url(`site/${name}`))), { file: path.join(directory, name), version: /^\w{8}$/ })
  }
})

t.test('files of the public folder have their own paths, also those in .well-known', async t => {
  const folder = t.testdir({
    assets: { 'a.css': 'a{}', '.well-known': { 'a.txt': 'a' } },
    public: {
      'robots.txt': 'User-agent: *',
      '.env': 'APP_SECRET=x',
      '.well-known': { 'security.txt': 'Contact: x', '.hidden': 'x' },
      deep: { 'a.txt': 'a', '.well-known': { 'b.txt': 'b' } },
    },
  })
  const directory = path.join(folder, 'public')
  const files = new StaticFiles()
  files.addPublic(path.join(directory, 'nowhere'))
  t.equal(files.find('/robots.txt'), undefined, 'the folder may be missing')
  files.addPublic(directory)
  files.add('site', path.join(folder, 'assets'))
  t.strictSame(files.find('/robots.txt'), { file: path.join(directory, 'robots.txt'), version: undefined })
  for (const target of ['/.well-known/security.txt', '/deep/a.txt']) {
    t.equal(files.find(target)?.file, path.join(directory, target), target)
  }
  for (const target of [
    '/',
    '/.env',
    '/.well-known/.hidden',
    '/deep',
    '/deep/.well-known/b.txt',
    '/deep/../.env',
    '/assets/site/.well-known/a.txt',
  ]) {
    t.equal(files.find(target), undefined, target)
  }
  writeFileSync(path.join(directory, 'humans.txt'), 'x')
  t.equal(files.find('/humans.txt'), undefined)
  files.load()
  t.equal(files.find('/humans.txt')?.file, path.join(directory, 'humans.txt'))
})

t.test('an assets folder below a hidden folder is served', async t => {
  const directory = t.testdir({ '.app': { 'assets.old': { 'a.css': 'a{}' } } })
  const files = new StaticFiles()
  files.add('site', `${directory}/.app/assets.old`)
  t.equal(files.find('/assets/site/a.css')?.file, `${directory}/.app/assets.old/a.css`)
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
