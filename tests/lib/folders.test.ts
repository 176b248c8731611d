import {
  chmodSync,
  chownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import { t } from 'tap'
import { checkFolder, replaceFileNow } from '#lib/folders.ts'

const isRoot = process.geteuid?.() === 0

/** Root may write everywhere: it checks as a user without privileges. Resolves with the message of the error. */
async function check(folder: string, options?: { isCreated: boolean }): Promise<string> {
  if (isRoot) process.seteuid?.(65_534)
  try {
    await checkFolder(folder, options)
    return 'writable'
  } catch (error) {
    return String(error)
  } finally {
    if (isRoot) process.seteuid?.(0)
  }
}

/** Each case prepares the folder of an application, `var` within it is checked. */
const cases: Record<string, { prepare(app: string): void; says: RegExp; folder?: string }> = {
  'an existing folder': { prepare: app => mkdirSync(`${app}/var`, { mode: 0o777 }), says: /^writable$/ },
  'a folder that is going to be created': { prepare: () => {}, says: /^writable$/ },
  'three folders that are going to be created': { prepare: () => {}, says: /^writable$/, folder: 'var/a/b' },
  'a link to a folder': {
    prepare(app) {
      mkdirSync(`${app}/elsewhere`)
      symlinkSync('elsewhere', `${app}/var`)
    },
    says: /^writable$/,
  },
  'a parent that may not be written': { prepare: app => chmodSync(app, 0o555), says: /\(EACCES in .*, mode 555\)/ },
  'the mode 555': {
    prepare(app) {
      mkdirSync(`${app}/var`)
      chmodSync(`${app}/var`, 0o555)
    },
    says: /\(EACCES in .*\/var, .*, mode 555\)\. Give it to this user\.$/,
  },
  'a parent that may not be searched': {
    prepare(app) {
      mkdirSync(`${app}/var/sessions`, { recursive: true })
      chmodSync(`${app}/var`, 0)
    },
    says: /EACCES in .*\/var\/sessions/,
    folder: 'var/sessions',
  },
  'a file in its place': {
    prepare: app => writeFileSync(`${app}/var`, ''),
    says: /\(ENOTDIR in .*\/var, .*\)\. Remove the file that is in its place\.$/,
  },
  'a file in the place of its parent': {
    prepare: app => writeFileSync(`${app}/var`, ''),
    says: /\(ENOTDIR in .*\/var, .*\)/,
    folder: 'var/sessions',
  },
  'a link to nothing': {
    prepare: app => symlinkSync('nothing', `${app}/var`),
    says: /\(ENOENT in .*\/var\)\. Create it, or the folder that a link leads to\.$/,
  },
  'a link to itself': { prepare: app => symlinkSync('var', `${app}/var`), says: /\(ELOOP in .*\/var\)\.$/ },
}

for (const [name, { folder = 'var', prepare, says }] of Object.entries(cases)) {
  t.test(`a folder is checked as the store would use it: ${name}`, async t => {
    const app = path.join(t.testdir({ app: {} }), 'app')
    prepare(app)
    if (isRoot) for (const owned of [app, ...list(app)]) chownLink(owned)
    const before = list(app)
    const message = await check(path.join(app, folder))
    t.match(message, says)
    if (message !== 'writable') t.match(message, `cannot write to the folder ${path.join(app, folder)} (`)
    chmodSync(app, 0o755)
    t.strictSame(list(app), before, 'nothing is left')
  })
}

/** As the user of {@link check} would have created them. A link keeps its owner. */
function chownLink(file: string): void {
  try {
    chownSync(file, 65_534, 65_534)
  } catch {
    // It leads nowhere.
  }
}

function list(folder: string): string[] {
  return readdirSync(folder).map(name => path.join(folder, name))
}

t.test('a folder of another user is named with its owner and the user of the process', async t => {
  if (!isRoot) return
  const folder = t.testdir()
  const [, user, ...rest] = (await check(folder)).split('"')
  t.not(user, 'root')
  const reason = `(EACCES in ${folder}, of the user id 0, mode 755). Give it to this user.`
  t.equal(rest.join('"'), ` cannot write to the folder ${folder} ${reason}`)
})

t.test('a folder that nothing creates must exist', async t => {
  t.match(await check(path.join(t.testdir(), 'tmp'), { isCreated: false }), /ENOENT/)
})

t.test('a file is replaced as a whole, with a link in its place; the target of the link stays', async t => {
  const folder = t.testdir({ precious: 'precious', taken: {} })
  const file = path.join(folder, 'var/names.json')
  replaceFileNow(file, 'one')
  t.equal(statSync(file).mode & 0o777, 0o600)
  t.equal(statSync(path.dirname(file)).mode & 0o777, 0o700)
  rmSync(file)
  symlinkSync(path.join(folder, 'precious'), file)
  replaceFileNow(file, 'two', 0o644)
  t.equal(readFileSync(file, 'utf8'), 'two')
  t.notOk(lstatSync(file).isSymbolicLink())
  t.equal(readFileSync(path.join(folder, 'precious'), 'utf8'), 'precious')
  t.throws(() => replaceFileNow(path.join(folder, 'taken'), 'three'), { code: /EISDIR|EEXIST|EPERM/ })
  t.strictSame(readdirSync(folder), ['precious', 'taken', 'var'], 'no draft is left')
})
