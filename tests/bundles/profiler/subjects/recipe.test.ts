import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { type Test, t } from 'tap'
import { findFindings } from '#bundles/profiler/insight/findings/inspector.ts'
import { kernelSubjects } from '#bundles/profiler/subjects/recorded-by-kernels.ts'
import { profilerRules } from '#bundles/profiler/subjects/rules.ts'
import { collectorSchemas, processSchemas } from '#bundles/profiler/subjects/schemas.ts'
import { subjectViews } from '#bundles/profiler/subjects/views.ts'
import { createProfiledKernel } from '#tests/support/profiled-kernel.ts'
import { askRichly, richBundle } from '#tests/support/rich-bundle.ts'
import { serveKernel } from '#tests/support/test-server.ts'

// The recipe is in `bundles/profiler/subjects/README.md`: what a new folder lacks is in one list.

const root = 'bundles/profiler/subjects'
const findings = 'tests/bundles/profiler/insight/findings'
const read = (file: string) => readFileSync(file, 'utf8')

/** The exports of a file of a subject that are objects with a property; none without the file. */
async function exportsOf(subject: string, file: string, property: string): Promise<[name: string, value: object][]> {
  if (!existsSync(`${root}/${subject}/${file}.ts`)) return []
  const module: Readonly<Record<string, unknown>> = await import(`#${root}/${subject}/${file}.ts`)
  return Object.entries(module).flatMap(([name, value]): [string, object][] =>
    typeof value === 'object' && value !== null && property in value ? [[name, value]] : [],
  )
}

/** What the folder of a subject exports, and no list of all subjects has. */
async function findUnlisted(subject: string): Promise<string[]> {
  const lists: readonly (readonly [file: string, property: string, list: string, listed: readonly object[]])[] = [
    ['data', '~standard', 'schemas.ts', [...Object.values(collectorSchemas), ...Object.values(processSchemas)]],
    ['record', 'createCollectors', 'recorded.ts', kernelSubjects],
    ['rules', 'find', 'rules.ts', profilerRules],
    ['show', 'toView', 'views.ts', subjectViews],
  ]
  const unlisted = lists.map(async ([file, property, list, listed]) => {
    const exported = await exportsOf(subject, file, property)
    // A schema may be a part of another one.
    const missing = exported.filter(
      ([name, value]) => !listed.includes(value) && (file !== 'data' || /Schema$/.test(name)),
    )
    return missing.map(([name]) => `${subject}: ${list} has no ${name}`)
  })
  return (await Promise.all(unlisted)).flat()
}

function findUntestedRules(): string[] {
  const pages = readdirSync(`${findings}/planted`).map(file => read(`${findings}/planted/${file}`))
  // A page is a request of one program: the rules of other work, and of other programs, have tests of their own.
  const others = read(`${findings}/units.test.ts`) + read('tests/bundles/profiler/insight/called.test.ts')
  const amounts = read(`${findings}/amounts.test.ts`)
  return profilerRules.flatMap(({ measure, name }) => [
    ...(pages.some(page => page.includes(`answer: '${name}'`)) || others.includes(`['${name}']`)
      ? []
      : [`${name}: no page of planted/ has its fault`]),
    ...(measure === undefined || new RegExp(`\\[\\s*'${name}'`).test(amounts)
      ? []
      : [`${name}: amounts.test.ts does not try it`]),
  ])
}

/**
 * These need more than a request: work that is none, the work of a sub-request, a sample, a
 * browser that follows a redirect, a page whose files are missing, and an open one.
 */
const notRich = ['cpu', 'redirects', 'missing', 'late', 'unit', 'within']

/** The parts and panels that no rich request has. */
async function findPoor(t: Test): Promise<string[]> {
  const kernel = await createProfiledKernel(t, { bundles: [richBundle] })
  const { url } = await serveKernel(t, kernel)
  const records = await askRichly(url)
  const profiles = await Promise.all(records.map(({ token }) => kernel.profileOf({ headers: { get: () => token } })))
  const inspected = profiles.map(profile => ({ profile, findings: findFindings(profile) }))
  const parts = Object.keys(collectorSchemas).filter(part => !profiles.some(({ data }) => data[part] !== undefined))
  const views = subjectViews.filter(view => !inspected.some(each => view.hasContent(each))).map(({ name }) => name)
  return [...new Set([...parts, ...views])]
    .filter(name => !notRich.includes(name))
    .map(name => `${name}: no request of tests/support/rich-bundle.ts has it`)
}

t.test('a subject has all that its recipe demands', async t => {
  const folders = readdirSync(root, { withFileTypes: true }).filter(entry => entry.isDirectory())
  const unlisted = await Promise.all(folders.map(({ name }) => findUnlisted(name)))
  const names = subjectViews.map(({ name }) => name)
  const templates = subjectViews.filter(({ template }) => !existsSync(`templates/${template}.hbs`))
  t.strictSame(
    [
      ...unlisted.flat(),
      ...templates.map(({ name, template }) => `${name}: there is no templates/${template}.hbs`),
      ...names.filter((name, index) => names.indexOf(name) !== index).map(name => `${name} is the name of two views`),
      ...findUntestedRules(),
      ...(await findPoor(t)),
    ],
    [],
  )
})
