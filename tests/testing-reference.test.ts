import { t } from 'tap'
import { readRows, readSections } from './support/markdown.ts'
import { readEntryPoints } from './support/public-api.ts'

const sections = readSections('docs/reference/testing.md')
const entries = readEntryPoints().filter(({ name }) => name.endsWith('/testing'))

/** The public members of a class, by its declaration. */
function membersOf(declaration: string): string[] {
  if (!/^(?:abstract )?class /.test(declaration)) return []
  const members = declaration.matchAll(/^ {4}(?:readonly |get |static )*([a-z]\w*)[(:<]/gm)
  return Array.from(members, ([, name]) => String(name)).filter(name => name !== 'constructor')
}

t.test('each testing kit has its section', async t => {
  t.strictSame(
    [...sections.keys()],
    entries.map(({ name }) => name),
  )
})

for (const { name: entry, names } of entries) {
  const section = sections.get(entry) ?? ''
  const known = names.flatMap(({ declaration, name }) => [name, ...membersOf(declaration.text)])

  t.test(`every name of ${entry}, and every member of its classes, is in the reference`, async t => {
    t.ok(known.length > names.length, 'members are found')
    t.strictSame(
      known.filter(name => !new RegExp(`\`${name}[\`(]`).test(section)),
      [],
    )
  })

  t.test(`each row of the reference names an export of ${entry} or a member`, async t => {
    const named = readRows(section).flatMap(([cell = '']) =>
      /`/.test(cell) ? (cell.match(/`\w+/g) ?? []) : [`\`${cell}`],
    )
    t.ok(named.length > 8)
    t.strictSame(
      named.map(name => /\w+/.exec(name)?.[0] ?? '').filter(name => name !== '' && !known.includes(name)),
      [],
    )
  })
}
