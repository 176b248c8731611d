import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import path from 'node:path'
import { type Test, t } from 'tap'
import { startCopy } from './bin/site-process.ts'
import { withoutPlaces } from './support/documented-console.ts'
import {
  applyDiff,
  type GuideBlock,
  isExcerpt,
  isOutput,
  parseGuide,
  readCommands,
  readGuide,
} from './support/guide.ts'
import { GuideProject } from './support/guide-project.ts'

const folder = 'docs/guides'
const guides = readdirSync(folder).filter(name => name.endsWith('.md'))

/** The address of servers in the guides; in a test each server has its own port. */
const documented = '127.0.0.1:8000'

/** Languages of files for other programs, and the guide whose own test covers them. */
const elsewhere: Readonly<Record<string, string>> = {
  ini: 'deploy.md',
  nginx: 'deploy.md',
  json: 'coding-agents.md',
  md: 'cpu-profile.md',
}

const noCurl = spawnSync('curl', ['--version']).status === 0 ? false : 'there is no curl on this machine'

t.test('every block of code in the guides works as shown', async t => {
  const project = new GuideProject(t)
  for (const name of guides) {
    await t.test(name, async t => {
      const blocks = readGuide(path.join(folder, name))
      project.reset()
      const files = writeFiles(blocks, project)
      for (const block of blocks) checkText(t, block, name, files, project)
      await followGuide(t, blocks, files, project)
    })
  }
})

t.test('a block or a change that cannot be applied is an error', async t => {
  t.throws(() => parseGuide('- a list\n  ```ts\n  hidden()\n  ```\n'), /cannot be read/)
  t.throws(() => applyDiff('one\ntwo', '--- list.ts\n three\n+four\n'), /no line "three"/)
})

/** Writes the files of a guide into the project, and applies its diffs. */
function writeFiles(blocks: readonly GuideBlock[], project: GuideProject): string[] {
  const named = blocks.flatMap(({ file, ...block }) => (file === undefined ? [] : [{ ...block, file }]))
  for (const { file, language, text } of named) {
    project.write(file, language === 'diff' ? applyDiff(project.read(file), text) : text)
  }
  return named.map(({ file }) => file)
}

/** Checks blocks that are neither files nor commands with output: parts of files, endless commands, settings of other programs. */
function checkText(
  t: Test,
  { file, language, text }: GuideBlock,
  name: string,
  files: readonly string[],
  project: GuideProject,
): void {
  if (file !== undefined || language === 'console') return
  const begin = text.split('\n', 1)[0]
  if (language === 'sh') t.equal(spawnSync('sh', ['-n'], { input: text }).status, 0, `${begin} …`)
  else if (language in elsewhere) t.equal(elsewhere[language], name, `${begin} … is tested`)
  else {
    const isPart = files.some(each => isExcerpt(text, project.read(each)))
    t.ok(isPart, `${begin} … is a part of a file of the guide`)
  }
}

/** Compiles, lints and tests the files, then runs the commands in their order. */
async function followGuide(
  t: Test,
  blocks: readonly GuideBlock[],
  files: readonly string[],
  project: GuideProject,
): Promise<void> {
  const succeed = async (line: string) => {
    const { code, output } = await project.run(line)
    t.equal(code, 0, line, { output })
  }
  const checked = files.filter(file => /\.(?:ts|mjs|css)$/.test(file))
  if (checked.length > 0) {
    await succeed('node node_modules/typescript/bin/tsc --build tests')
    await succeed(`node_modules/.bin/biome check ${checked.join(' ')}`)
  }
  for (const file of files.filter(file => file.endsWith('.mjs'))) await succeed(`node --check ${file}`)
  for (const file of files.filter(file => file.endsWith('.test.ts'))) {
    await succeed(`node --enable-source-maps dist/${file.replace(/\.ts$/, '.js')}`)
  }

  const commands = blocks.filter(({ language }) => language === 'console').flatMap(readCommands)
  let place: string | undefined
  for (const { line, output: shown } of commands) {
    const needsServer = line.includes(documented)
    await t.test(line, { skip: needsServer && noCurl }, async command => {
      if (needsServer) place ??= new URL(await startCopy(t, project.directory).url()).host
      const { output } = await project.run(line.replaceAll(documented, String(place)))
      const actual = withoutPlaces(output.replaceAll('\r', '').replaceAll(String(place), documented)).trimEnd()
      command.ok(isOutput(actual, withoutPlaces(shown)), 'prints what the guide shows', { actual, shown })
    })
  }
}
