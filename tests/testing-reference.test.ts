import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { t } from 'tap'

const folders = ['kernel/testing', 'bundles/profiler/testing']

const files = folders.flatMap(folder =>
  readdirSync(folder)
    .filter(name => name.endsWith('.ts'))
    .map(name => path.join(folder, name)),
)

const sections = new Map(
  readFileSync('docs/reference/testing.md', 'utf8')
    .split(/^## /m)
    .slice(1)
    .map(section => [String(section.split('\n', 1)[0]), section]),
)

/** The exports of a file, with the line before each. */
function exportsOf(code: string): { readonly name: string; readonly before: string }[] {
  return [...code.matchAll(/^(.*)\nexport (?:async )?(?:class|function|const|interface|type) (\w+)/gm)].map(
    ([, before = '', name = '']) => ({ name, before }),
  )
}

/** The public members of its classes. */
function membersOf(code: string): string[] {
  return code.split(/^export class /m).flatMap((part, index) => {
    const body = index === 0 ? '' : String(part.split(/^\}$/m)[0])
    return [...body.matchAll(/^ {2}(?:readonly |get |async )?([a-z]\w*)(?=[(:<])/gm)].map(([, name = '']) => name)
  })
}

t.test('every file of the kit has its section, and every section a file', async t => {
  t.strictSame([...sections.keys()].toSorted(), files.toSorted())
})

for (const file of files) {
  const code = readFileSync(file, 'utf8')
  const section = sections.get(file) ?? ''
  const known = [...exportsOf(code).map(({ name }) => name), ...membersOf(code)].filter(name => name !== 'constructor')

  t.test(`every export of ${file} is documented in the code and in the reference`, async t => {
    for (const { before, name } of exportsOf(code)) t.equal(before.trim().slice(-2), '*/', `${name} has a comment`)
    for (const name of known) t.match(section, new RegExp(`\`${name}[\`(]`), name)
  })

  t.test(`each row of the reference names an export or a member of ${file}`, async t => {
    const rows = [...section.matchAll(/^\| (`.+?) \|/gm)].flatMap(([, cell = '']) => cell.match(/`\w+/g) ?? [])
    t.ok(rows.length > 0)
    for (const name of rows) t.ok(known.includes(name.slice(1)), name)
  })
}
