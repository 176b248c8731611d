import {
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { t } from 'tap'
import { sweepTemporaryFiles, TemporaryFiles } from '#lib/body/form-data.ts'
import { runProcess } from '#tests/support/start-process.ts'

const old = new Date(Date.now() - 2 * 3_600_000)

t.test('the files of killed processes are swept after an hour, and no others', async t => {
  const parent = t.testdir({ elsewhere: { precious: 'content' } })
  const inside = (name: string) => path.join(parent, name)
  const left = path.dirname(await new TemporaryFiles(parent).createPath())
  writeFileSync(path.join(left, 'upload'), 'content')
  symlinkSync(inside('elsewhere'), path.join(left, 'link'))
  const fresh = path.dirname(await new TemporaryFiles(parent).createPath())
  const others = ['sinfonietta-upload-longer-name', 'sinfonietta-AbC123', 'xsinfonietta-upload-AbC123']
  for (const name of others) mkdirSync(inside(name))
  writeFileSync(inside('sinfonietta-upload-File12'), 'no directory')
  symlinkSync(inside('elsewhere'), inside('sinfonietta-upload-Link12'))
  for (const name of [...others, 'sinfonietta-upload-File12', 'elsewhere']) utimesSync(inside(name), old, old)
  utimesSync(left, old, old)

  await Promise.all([sweepTemporaryFiles(parent), sweepTemporaryFiles(parent)])
  t.notOk(existsSync(left))
  t.ok(existsSync(fresh))
  for (const name of [...others, 'sinfonietta-upload-File12']) t.ok(existsSync(inside(name)), name)
  t.ok(lstatSync(inside('sinfonietta-upload-Link12')).isSymbolicLink())
  t.ok(existsSync(inside('elsewhere/precious')))
})

t.test(
  'nothing is swept of other users',
  { skip: process.getuid?.() === 0 ? false : 'only root can make such' },
  async t => {
    const parent = t.testdir()
    const left = path.dirname(await new TemporaryFiles(parent).createPath())
    utimesSync(left, old, old)
    chownSync(left, 12_345, 12_345)
    await sweepTemporaryFiles(parent)
    t.ok(existsSync(left))
  },
)

t.test('a process that ends before its requests removes their files', async t => {
  const parent = t.testdir({ archive: 'content' })
  const archive = path.join(parent, 'archive')
  const code = `
    import { writeFile } from 'node:fs/promises'
    const load = file => import(${JSON.stringify(pathToFileURL(path.resolve('dist/lib')).href)} + file)
    const { TemporaryFiles } = await load('/body/form-data.js')
    const { createFileResponse } = await load('/http/file-response.js')
    const { Request } = await load('/http/request.js')
    const [ended, other] = [new TemporaryFiles('.'), new TemporaryFiles('.')]
    for (const files of [ended, other]) await writeFile(await files.createPath(), 'content')
    await ended.remove()
    await createFileResponse(new Request({ target: '/' }), ${JSON.stringify(archive)}, { deleteAfterSending: true })
    process.exit()`
  const { code: exitCode, stderr } = await runProcess(t, [process.execPath, '--input-type=module', '-e', code], {
    cwd: parent,
  })
  t.strictSame([exitCode, stderr, readdirSync(parent)], [0, '', []])
})

t.test('a missing directory is no error', async t => {
  await t.resolves(sweepTemporaryFiles(path.join(t.testdir(), 'nowhere')))
})
