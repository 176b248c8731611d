import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { type Test, t } from 'tap'
import { findFolder, keepSecret } from '#bin/profiling/profile-folder.ts'
import { runProcess } from '#tests/support/start-process.ts'
import { findProfile, startProfiled } from '#tests/support/start-profiled.ts'
import { until } from '#tests/support/until.ts'

const preload = path.join(import.meta.dirname, '../../bin/exports/profile.js')
const user = process.geteuid?.() ?? -1
const isOtherThere = user === 0 && spawnSync('runuser', ['-u', 'nobody', 'true']).status === 0
const hasCurl = spawnSync('curl', ['--version']).status === 0
const lacksOther = isOtherThere && hasCurl ? false : 'needs root, runuser and curl'

/** A folder for an application and its temporary folder, outside of every `node_modules`. */
function createFolders(t: Test, mode = 0o1777) {
  const folder = mkdtempSync(path.join(tmpdir(), 'folder-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  const [application, temporary] = ['application', 'temporary'].map(name => path.join(folder, name))
  for (const each of [application, temporary]) mkdirSync(each ?? '')
  chmodSync(temporary ?? '', mode)
  return {
    application: application ?? '',
    temporary: temporary ?? '',
    own: path.join(temporary ?? '', `sinfonietta-${user}`),
  }
}

/** Runs commands of a shell as another user. Its current folder may be one that this user cannot reach by its path. */
async function runAsOther(t: Test, cwd: string, commands: string) {
  const { code, stderr } = await runProcess(t, ['runuser', '-u', 'nobody', '--', 'sh', '-c', commands], { cwd })
  if (code !== 0) throw new Error(stderr)
}

/** Finds the folder of an application as a process with this temporary folder does; the message of an error. */
function find({ application, temporary }: ReturnType<typeof createFolders>): string {
  const { TMPDIR } = process.env
  process.env.TMPDIR = temporary
  try {
    return findFolder(application).replace(path.join('/programs', application), '')
  } catch (error) {
    return (error as Error).message
  } finally {
    if (TMPDIR === undefined) delete process.env.TMPDIR
    else process.env.TMPDIR = TMPDIR
  }
}

t.test('an application without node_modules gets a folder of its user, with mode 0700', async t => {
  const folders = createFolders(t)
  const umask = process.umask(0)
  t.teardown(() => process.umask(umask))
  t.equal(find(folders), folders.own)
  t.equal(statSync(folders.own).mode & 0o7777, 0o700)
  t.equal(find(folders), folders.own, 'and gets it again')
})

t.test('a folder that another user has made, can write, or can replace is refused', async t => {
  const faults: Readonly<Record<string, (folders: ReturnType<typeof createFolders>) => void>> = {
    'is a link': ({ own, temporary }) => {
      mkdirSync(path.join(temporary, 'target'), { mode: 0o700 })
      symlinkSync('target', own)
    },
    'is a file': ({ own }) => writeFileSync(own, '', { mode: 0o600 }),
    'is open to other users': ({ own }) => {
      mkdirSync(own)
      chmodSync(own, 0o750)
    },
    'can be replaced by other users': ({ temporary }) => chmodSync(temporary, 0o777),
    'cannot be created': ({ temporary }) => rmSync(temporary, { recursive: true }),
    ...(user === 0 && {
      'belongs to another user (65534)': ({ own }) => {
        mkdirSync(own, { mode: 0o700 })
        chownSync(own, 65_534, 65_534)
      },
    }),
  }
  const found = Object.values(faults).map(make => {
    const folders = createFolders(t)
    make(folders)
    return find(folders).replace(folders.own, '…')
  })
  const remedy = 'remove it, or set TMPDIR to a folder of your own.'
  t.strictSame(
    found,
    Object.keys(faults).map(fault => `The folder … ${fault}: ${remedy}`),
  )
})

t.test('node_modules of another user above the application is not used', { skip: lacksOther }, async t => {
  const folders = createFolders(t)
  const modules = path.join(path.dirname(folders.application), 'node_modules')
  mkdirSync(modules)
  const used = path.join(modules, '.cache/sinfonietta/programs/application')
  t.equal(find(folders), used)
  chownSync(modules, 65_534, 65_534)
  t.equal(find(folders), folders.own)
  chownSync(folders.application, 65_534, 65_534)
  t.equal(find(folders), used, 'that of the owner of the application is')
})

t.test('a secret that another user has written is not used', { skip: lacksOther }, async t => {
  const { temporary } = createFolders(t, 0o777)
  const secret = '0123456789abcdef0123456789abcdef'
  const file = path.join(temporary, 'replay-secret')
  writeFileSync(file, secret)
  t.equal(keepSecret(temporary), secret, 'an own one is')
  rmSync(file)
  await runAsOther(t, temporary, `printf ${secret} > replay-secret; chmod 644 replay-secret`)
  t.not(keepSecret(temporary), secret)
  rmSync(file)
  writeFileSync(path.join(temporary, 'own'), secret)
  symlinkSync('own', file)
  t.not(keepSecret(temporary), secret, 'nor behind a link')
})

t.test('what another user prepares in the temporary folder has no effect', { skip: lacksOther }, async t => {
  const { application, own, temporary } = createFolders(t)
  const secret = '0123456789abcdef0123456789abcdef'
  const prepare = (name: string) =>
    runAsOther(
      t,
      temporary,
      `umask 0; mkdir ${name} ${name}/profiler ${name}/templates; printf ${secret} > ${name}/replay-secret`,
    )
  await prepare('sinfonietta')
  const source = `
    const { createServer } = await import('node:http')
    const server = createServer((message, reply) => reply.end('own')).listen(0, '127.0.0.1', () => {
      process.stdout.write(JSON.stringify([server.address().port]) + '\\n')
    })
    process.stdin.on('end', () => process.exit()).resume()`
  const { stop, url, viewer } = await startProfiled(t, source, { TMPDIR: temporary }, application)

  await t.test('the known secret marks no replay, and shows no debug output', async t => {
    const command = ['curl', '-si', '-H', `x-profiler-replay: ${secret} abcdef`, `${url}/marked`]
    const { stdout } = await runProcess(t, ['runuser', '-u', 'nobody', '--', ...command], { cwd: '/' })
    t.match(stdout, /200 OK[\s\S]*own$/)
    t.notMatch(stdout, /x-debug-token|server-timing/i)
    const { data } = await findProfile(viewer, '/marked')
    t.notMatch(JSON.stringify(data.request?.attributes), '_replay_of')
  })

  await t.test('a forged profile is not shown, not even where a folder was opened by mistake', async t => {
    const { summary } = await findProfile(viewer, '/marked')
    const store = path.join(own, 'programs', application, 'profiler')
    const stored = () => readdirSync(store).map(name => readFileSync(path.join(store, name), 'utf8'))
    const lines = () => stored().join('').split('\n')
    await until(() => lines().some(line => line.startsWith('{"schemaVersion"')))
    const line = String(lines().find(line => line.startsWith('{"schemaVersion"')))
    const forge = (token: string) => `${line.replaceAll(summary.token, token)}\n`
    for (let folder = store; folder !== path.dirname(temporary); folder = path.dirname(folder)) chmodSync(folder, 0o777)
    writeFileSync(path.join(temporary, 'forged'), forge('beef03'))
    const segment = (number: number) => `${String(number).padStart(16, '0')}-1-00000000.jsonl`
    await runAsOther(t, store, `umask 022; cat ${path.join(path.relative(store, temporary), 'forged')} > ${segment(1)}`)
    writeFileSync(path.join(store, segment(2)), forge('beef04'))
    const read = async (token: string) => (await fetch(`${viewer}/_profiler/${token}.json`)).status
    t.strictSame([await read('beef03'), await read('beef04')], [404, 200], 'an own file is read')
  })
  await stop()

  await t.test('the folder of the user is refused if it is theirs, and the application runs', async t => {
    rmSync(own, { recursive: true })
    chmodSync(temporary, 0o1777)
    await prepare(path.basename(own))
    const command = [process.execPath, '--import', preload, '-e', 'process.stdout.write("done")']
    const { NODE_ENV: _, ...env } = process.env
    const ran = await runProcess(t, command, {
      cwd: application,
      env: { ...env, TMPDIR: temporary, PROFILER_PORT: '0' },
    })
    t.match(ran, {
      code: 0,
      stdout: 'done',
      stderr: /^Nothing is profiled: The folder \S+ belongs to another user \(65534\)/,
    })
  })
})
