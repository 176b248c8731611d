import { cpSync, mkdirSync, renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { type Test, t } from 'tap'
import { runsTypeScript } from '#bin/application/sources.ts'
import { findPort } from '#tests/support/find-port.ts'
import { readGuide } from '#tests/support/guide.ts'
import { noRegistry } from '#tests/support/npm-registry.ts'
import { packPackage } from '#tests/support/pack.ts'
import { runProcess } from '#tests/support/start-process.ts'
import { lacksPrograms } from '#tests/support/start-server.ts'
import { interrupt, noNpm, Workplace } from '#tests/support/workplace.ts'
import { readRecipe } from './recipes.ts'

/** The first block of a recipe in a language. */
function blockOf(title: string, language: string): string {
  return String(readRecipe(title).find(block => block.language === language)?.text)
}

/** The folder with the Node of an image, which runs TypeScript. Npm has the programs of Node as packages. */
async function findNode(t: Test, version: string): Promise<string> {
  if (runsTypeScript) return path.dirname(process.execPath)
  const folder = t.testdir({ 'package.json': '{}' })
  const name = `node-${process.platform}-${process.arch}`
  const { code, stderr } = await runProcess(t, ['npm', 'install', '--no-save', '--no-audit', `${name}@${version}`], {
    cwd: folder,
  })
  t.equal(code, 0, `Node ${version} is installed`, { stderr })
  return path.join(folder, 'node_modules', name, 'bin')
}

t.test('Docker', { skip: noNpm || noRegistry }, async t => {
  const place = await Workplace.create(t)
  const succeed = async (line: string, folder: string, variables: Readonly<Record<string, string>> = {}) => {
    const { code, output } = await place.run(line, folder, variables)
    t.equal(code, 0, line, { output })
  }
  const { file } = await packPackage(t, place.directory)
  await succeed(`npx --yes ./${file} new my-site`, '.')
  renameSync(place.path(file), place.path(`my-site/${file}`))
  await succeed(`npm pkg set 'dependencies.sinfonietta=file:${file}' && npm install`, 'my-site')
  for (const name of ['.env.local', 'var/secret.txt']) place.write(`my-site/${name}`, 'APP_ENV=dev')

  // The package is not published: the guide says where its tarball is copied.
  const dockerfile = blockOf('Docker', 'dockerfile').replace('package-lock.json ./', `package-lock.json ${file} ./`)
  const instructions = dockerfile
    .trim()
    .split('\n')
    .map(line => /^([A-Z]+) (.+)$/.exec(line)?.slice(1) ?? [])
  const ignored = blockOf('Docker', 'text').trim().split('\n')
  const image = place.path('image')
  const variables: Record<string, string> = {}
  const commands = new Map<string, string[]>()
  mkdirSync(image)
  for (const [instruction, rest = ''] of instructions) {
    const words = rest.split(' ')
    if (instruction === 'FROM') {
      const node = await findNode(t, String(/^node:(\d+)-slim$/.exec(rest)?.[1]))
      variables.PATH = `${node}:${process.env.PATH}`
    } else if (instruction === 'ENV') Object.assign(variables, Object.fromEntries([rest.split('=')]))
    else if (instruction === 'COPY' && rest === '. .') {
      const filter = (source: string) => !ignored.includes(path.relative(place.path('my-site'), source))
      cpSync(place.path('my-site'), image, { recursive: true, filter })
    } else if (instruction === 'COPY') {
      for (const name of words.slice(0, -1)) cpSync(place.path(`my-site/${name}`), path.join(image, name))
      // Only the image of Node has a user "node".
    } else if (instruction === 'RUN') await succeed(rest.replace('-o node -g node ', ''), 'image', variables)
    else if (/^(?:CMD|HEALTHCHECK)$/.test(String(instruction))) {
      commands.set(String(instruction), JSON.parse(rest.replace(/^CMD /, '')))
    } else t.match(instruction, /^(?:WORKDIR|USER|EXPOSE)$/, 'nothing else is in the file')
  }
  t.strictSame(
    [place.has('image/.env.local'), place.has('image/var/secret.txt')],
    [false, false],
    'secrets stay outside',
  )

  const port = String(await findPort())
  const commandOf = (name: string) =>
    (commands.get(name) ?? []).map(word => `'${word.replace(/\b8000\b/, port).replaceAll("'", "'\\''")}'`).join(' ')
  const check = async () => (await place.run(commandOf('HEALTHCHECK'), 'image', variables)).code
  t.equal(await check(), 1, 'a container without a server is not healthy')
  const settings = { ...variables, APP_SECRET: 'of one’s own, and long enough for production', APP_HOSTS: '127.0.0.1' }
  const server = place.start(t, `exec ${commandOf('CMD')}`, 'image', settings)
  await server.url()
  t.equal(await check(), 0, 'it is healthy')
  const home = await fetch(`http://127.0.0.1:${port}/`)
  t.equal(home.status, 200)
  t.equal(home.headers.get('x-debug-token'), null, 'it is in production')
  interrupt(server, 'SIGTERM')
  t.equal(await server.end(), 0, 'it ends in order')
})

t.test('systemd', async t => {
  const [service = '', timer = ''] = readRecipe('systemd').flatMap(({ language, text }) =>
    language === 'ini' ? [text] : [],
  )
  const site = String(readGuide('docs/guides/deploy.md').find(({ language }) => language === 'ini')?.text)
  const units = { 'my-site-report.service': service, 'my-site-report.timer': timer, 'my-site.service': site }
  const strange = Object.entries(units).flatMap(([name, text]) =>
    text
      .trim()
      .split('\n')
      .filter(line => !/^(?:\[[A-Z]\w+\]|[A-Z]\w+=.+|#.*|)$/.test(line))
      .map(line => `${name}: ${line}`),
  )
  t.strictSame(strange, [])
  // CI has no systemd: there the form of the lines is all that is tested.
  if (lacksPrograms('systemd', 'systemd-analyze')) return
  const folder = t.testdir(units)
  for (const [name, text] of Object.entries(units)) {
    writeFileSync(path.join(folder, name), text.replace('/usr/bin/node', process.execPath))
  }
  const verify = ['systemd-analyze', 'verify', ...Object.keys(units).map(name => path.join(folder, name))]
  t.strictSame(await runProcess(t, verify), { code: 0, stdout: '', stderr: '' })
})
