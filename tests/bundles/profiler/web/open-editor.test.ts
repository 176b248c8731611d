import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createRequest } from 'sinfonietta/testing'
import { type Test, t } from 'tap'
import type { FilePlace } from '#bundles/profiler/panels/editor-links.ts'
import { EditorLinks } from '#bundles/profiler/panels/editor-links.ts'
import { MemoryProfileStorage } from '#bundles/profiler/store/memory-profile-storage.ts'
import { UnitedStorage } from '#bundles/profiler/store/united-storage.ts'
import { launchEditor, openEditor } from '#bundles/profiler/web/open-editor.ts'
import { packageDirectory } from '#lib/package.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'

/** Opens a place as a page of the application in a folder does. */
async function open(directory: string, fields: Record<string, string>, peer = '127.0.0.1', isLaunched = true) {
  const launched: FilePlace[] = []
  const remote = { remoteAddress: peer }
  const request = createRequest('/_profiler/open-editor', { method: 'POST', form: fields, ...remote })
  const editorPaths = [{ from: directory, to: '/home/me/app' }]
  const editor = new EditorLinks({ directory, editorPaths })
  const { body, headers, status } = await openEditor(
    request,
    { directory, editor, programs: new UnitedStorage(new MemoryProfileStorage()) },
    async place => {
      launched.push(place)
      return isLaunched
    },
  )
  return { status, headers, launched, ...JSON.parse(String(body)) }
}

function createProject(t: Test) {
  // Not below the package: its own files may be opened.
  const outside = realpathSync(mkdtempSync(path.join(tmpdir(), 'open-editor-')))
  t.teardown(() => rmSync(outside, { recursive: true }))
  const app = path.join(outside, 'app')
  for (const folder of ['linked', 'app/bundles', 'app/node_modules']) {
    mkdirSync(path.join(outside, folder), { recursive: true })
  }
  for (const file of ['secret.txt', 'linked/a.js', 'app/a.ts']) writeFileSync(path.join(outside, file), '')
  symlinkSync(path.join(outside, 'linked'), path.join(app, 'node_modules/linked'))
  symlinkSync(path.join(outside, 'secret.txt'), path.join(app, 'escape.ts'))
  symlinkSync(path.join(outside, 'secret.txt'), path.join(outside, 'linked/escape.js'))
  symlinkSync(outside, path.join(app, 'bundles/up'))
  return app
}

t.test('the server opens a file of the application, of its packages, and of this package', async t => {
  const app = createProject(t)
  const { isOpened, launched, status } = await open(app, { at: 'a.ts:7:3' })
  t.strictSame([status, isOpened, launched], [200, true, [{ file: path.join(app, 'a.ts'), line: 7, column: 3 }]])
  t.strictSame((await open(app, { at: 'a.ts' })).launched, [{ file: path.join(app, 'a.ts'), line: 1, column: 1 }])
  t.equal((await open(app, { at: 'node_modules/linked/a.js:1' })).isOpened, true, 'npm has linked the package')
  t.equal((await open(app, { at: 'sinfonietta/lib/package.ts:1' })).isOpened, true)
  t.equal((await open(app, { at: path.join(packageDirectory, 'lib/package.ts') })).isOpened, true)
})

t.test('no other file is opened', async t => {
  const app = createProject(t)
  const refused = [
    '/etc/passwd',
    '../secret.txt',
    'bundles/../../secret.txt',
    'escape.ts',
    'node_modules/linked/escape.js',
    'node_modules/linked/../../../secret.txt',
    'bundles/up/secret.txt',
    'bundles',
    'missing.ts',
    'a.ts:x',
    'a.ts\0',
    '',
  ]
  for (const at of refused) {
    const { launched, reason, status } = await open(app, { at })
    t.strictSame([status, launched, reason], [404, [], 'This is no file of the application.'], at)
  }
  t.equal((await open(app, {})).status, 404)
})

t.test('without an editor on this machine, the answer has links of all editors', async t => {
  const app = createProject(t)
  const { editors, isOpened, reason } = await open(app, { at: 'a.ts:7:3' }, '127.0.0.1', false)
  t.strictSame([isOpened, reason], [undefined, 'The server found no running editor.'])
  t.hasStrict(editors, [{ name: 'vscode', label: 'VS Code', link: 'vscode://file/home/me/app/a.ts:7:3' }])
  const remote = await open(app, { at: 'a.ts:7:3' }, '192.0.2.7')
  t.strictSame([remote.launched, remote.reason], [[], 'The server is on another machine.'])
  const chosen = await open(app, { at: 'a.ts:7:3', editor: 'idea' })
  t.strictSame([chosen.launched, chosen.link], [[], 'idea://open?file=/home/me/app/a.ts&line=7&column=3'])
})

t.test('only a page of the profiler itself may open a file', async t => {
  const { client } = await createProfiledKernel(t)
  const form = 'at=nowhere.ts'
  const type = { 'content-type': 'application/x-www-form-urlencoded' }
  const post = async (headers: Record<string, string>) =>
    (await client.post('/_profiler/open-editor', { headers: { ...type, ...headers }, body: form })).text
  t.match(await post({ 'sec-fetch-site': 'same-origin' }), /no file of the application/)
  for (const headers of [{}, { 'sec-fetch-site': 'cross-site' }, { origin: 'http://evil.example' }]) {
    t.notMatch(await post(headers), /no file of the application/, JSON.stringify(headers))
  }
})

t.test('the editor is that of a variable, or one that runs; the path is one argument of its command', async t => {
  const folder = t.testdir()
  const file = path.join(folder, 'a file; $(touch x).ts')
  mkdirSync(path.join(folder, 'bin'))
  const write = (name: string, code: string) => {
    writeFileSync(path.join(folder, 'bin', name), `#!/bin/sh\n${code}\n`)
    chmodSync(path.join(folder, 'bin', name), 0o755)
  }
  for (const name of ['code', 'subl', 'idea']) write(name, `printf '%s\\n' ${name} "$@" > ${folder}/called`)
  write('cursor', 'exit 3')
  const launch = async (env: Record<string, string>, running = '', platform = 'linux') => {
    writeFileSync(path.join(folder, 'called'), '')
    const system = {
      env: { PATH: `${folder}/bin:${process.env.PATH}`, ...env },
      platform,
      listProcesses: async () => running,
    }
    const isOpened = await launchEditor({ file, line: 7, column: 3 }, system)
    return [isOpened, ...readFileSync(path.join(folder, 'called'), 'utf8').split('\n').slice(0, -1)]
  }
  t.strictSame(await launch({ LAUNCH_EDITOR: 'code' }), [true, 'code', '-r', '-g', `${file}:7:3`])
  t.strictSame(await launch({ EDITOR: `${folder}/bin/subl --wait` }), [true, 'subl', `${file}:7:3`])
  const idea = ['idea', '--line', '7', '--column', '3', file]
  t.strictSame(await launch({ EDITOR: 'vim' }, 'vim\nnode\n/opt/IDE/bin/idea\n'), [true, ...idea])
  t.strictSame(await launch({}, '/Applications/Visual Studio Code.app/Contents/MacOS/Electron'), [
    true,
    'code',
    '-r',
    '-g',
    `${file}:7:3`,
  ])
  t.strictSame(await launch({ VISUAL: 'cursor' }), [false], 'it ends with an error')
  t.strictSame(await launch({ VISUAL: 'zed' }), [false], 'it is not installed')
  t.strictSame(await launch({ EDITOR: 'vim' }, 'vim'), [false], 'an editor in the terminal is not started')
  t.strictSame(await launch({ EDITOR: 'code' }, 'code', 'win32'), [false], 'the command needs a shell')
})

t.test('a program without an end counts as open; without ps there is no editor', async t => {
  const folder = t.testdir({ zed: '#!/bin/sh\nexec sleep 5\n' })
  chmodSync(path.join(folder, 'zed'), 0o755)
  const place = { file: '/a.ts', line: 1, column: 1 }
  const env = { PATH: `${folder}:${process.env.PATH}` }
  const system = { env, platform: 'linux', listProcesses: async () => 'zed-editor\n' }
  t.equal(await launchEditor(place, system), true)
  const listProcesses = async () => {
    throw new Error('ENOENT')
  }
  t.equal(await launchEditor(place, { ...system, listProcesses }), false)
  t.equal(await launchEditor(place, { env: { PATH: '/nowhere' } }), false, 'no editor that runs can be started')
})
