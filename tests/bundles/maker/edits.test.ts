import { t } from 'tap'
import { orderImports } from '#bundles/maker/import-order.ts'
import { addImport, listBundle, registerInBundle } from '#bundles/maker/source-edits.ts'

/** A file before and after a change: «added» parts are only in the second text, ‹removed› parts only in the first. */
function readChange(marked: string): { before: string; after: string } {
  const before = marked.replace(/«[^»]*»/g, '').replace(/[‹›]/g, '')
  const after = marked.replace(/‹[^›]*›/g, '').replace(/[«»]/g, '')
  return { before, after }
}

/** The names of the texts whose change is another one. A text without a mark is left to the user. */
function findWrong(table: Readonly<Record<string, string>>, change: (text: string) => string | undefined): string[] {
  const wrong = Object.entries(table).filter(([, marked]) => {
    const { after, before } = readChange(marked)
    return change(before) !== (after === before ? undefined : after)
  })
  return wrong.map(([name, marked]) => `${name}: ${change(readChange(marked).before)}`)
}

const inFunction = (list: string) => `import { a } from './a.ts'
«import { shopBundle } from './shop/shop-bundle.ts'
»
export function createBundles(): Bundle[] {
  return ${list}
}
`

const lists = {
  'one line': inFunction('[createFrameworkBundle(), a«, shopBundle»]'),
  'only the framework': inFunction('[createFrameworkBundle()«, shopBundle»]'),
  'options with brackets': inFunction("[createFrameworkBundle({ a: ['b]'], c: [...d] }), a({ b: [1] })«, shopBundle»]"),
  'a comma at the end': inFunction('[createFrameworkBundle(), a«, shopBundle»,]'),
  lines: inFunction('[\n    createFrameworkBundle(),\n    // the [first]\n    a«,\n    shopBundle»,\n  ]'),
  'lines without a comma at the end': inFunction('[\n\tcreateFrameworkBundle(),\n\ta«,\n\tshopBundle»\n]'),
  'bundles of development stay the last': inFunction(
    '[createFrameworkBundle(), a«, shopBundle», ...(isDebug ? [b] : [])]',
  ),
  'lines with bundles of development': inFunction(
    '[\n    createFrameworkBundle(),\n    a«,\n    shopBundle»,\n    ...(await load()),\n  ]',
  ),
  'a list with a name': inFunction(
    'undefined\n  const bundles = [createFrameworkBundle(), a«, shopBundle»]\n  return [...bundles, b]',
  ),
  'a comment at the end': inFunction('[createFrameworkBundle(), a«, shopBundle» /* all */]'),
  'another list': 'export const createBundles = () => [a, b]\n',
  'a list of another file': 'export { createBundles } from "./others.ts"\n',
  'no end': 'export const createBundles = () => [createFrameworkBundle(), a\n',
}

t.test('a bundle is added to the list of bundles in its usual form', t => {
  t.strictSame(
    findWrong(lists, text => listBundle(text, 'shopBundle', './shop/shop-bundle.ts').text),
    [],
  )
  t.end()
})

const inBundle = (members: string) => `import type { Application, Bundle } from 'sinfonietta'
«import { add } from './add.ts'
»
export const shopBundle: Bundle = {
  name: 'shop',
${members}
}
`

const registers = {
  'an empty method': inBundle('  register(«app») {«\n    add(app)\n  »},'),
  'an empty method with a parameter': inBundle('  register(app) {«\n    add(app)\n  »},'),
  statements: inBundle('  register(app) {\n    c(app)\n\n    // all«\n    add(app)»\n  },'),
  'async, and types': inBundle(
    '  async register(app: Application): Promise<void> {\n    await c(app)«\n    add(app)»\n  },',
  ),
  'another name of the parameter': inBundle('  register(it) {\n    c("}", it)«\n    add(it)»\n  },'),
  'a destructured parameter': inBundle(
    '  register(‹{ routes, view }›«app») {«\n    const { routes, view } = app»\n    routes.add(view)«\n    add(app)»\n  },',
  ),
  'a destructured parameter with a type': inBundle(
    '  register(‹{ routes }›«app»: Application) {«\n    const { routes } = app»\n    if (a) return\n    c()«\n    add(app)»\n  },',
  ),
  'a return at the end': inBundle(
    '  async register(app) {\n    if (c) {\n      return\n    }«\n    add(app)»\n    return d(app)\n  },',
  ),
  'a bundle of a function':
    "«import { add } from './add.ts'\n\n»export const create = () => {\n    return {\n        register(app) {\n            c(app)«\n            add(app)»\n        },\n    }\n}\n",
  'a method of a class':
    "import type { Application } from 'sinfonietta'\n«import { add } from './add.ts'\n»\nexport class B implements Bundle {\n\tregister(app: Application) {«\n\t\tadd(app)\n\t»}\n}\n",
  'semicolons and other quotes':
    'import { type Bundle } from "sinfonietta"; // types\n«import { add } from "./add.ts";\n»import {\n  d,\n} from "./d.ts";\n\nexport const b: Bundle = {\n  register(app) {\n    d();«\n    add(app);»\n  },\n};\n',
  'a method of a class without a parameter': 'export class B implements Bundle {\n  register() {}\n}\n',
  'a statement that is there': 'export const b = {\n  register(app) {\n    add(app)\n  },\n}\n',
  'a default value': 'export const b = {\n  register({ routes } = c) {},\n}\n',
  'a name that is taken': 'export const b = {\n  register({ routes }) {\n    const app = c\n  },\n}\n',
  'a body of one line': 'export const b = {\n  register(app) { c(app) },\n}\n',
  'a return of several lines': 'export const b = {\n  register(app) {\n    return d(\n      app,\n    )\n  },\n}\n',
  'two bundles': 'export const b = {\n  register() {},\n}\nexport const c = {\n  register() {},\n}\n',
  'a function by its name': 'export const b = { register, close: d }\n',
  'a function as a value': 'export const b = {\n  register: app => c(app),\n}\n',
  'a name of another import': "import { add } from 'others'\nexport const b = {\n  register() {},\n}\n",
  'no end': 'export const b = {\n  register() {\n',
}

t.test('a statement is added to the register of a bundle in its usual form', t => {
  const register = (text: string | undefined) =>
    registerInBundle(text, "import { add } from './add.ts'", app => `add(${app})`).text
  t.strictSame(findWrong(registers, register), [])
  const windows = Object.fromEntries(
    Object.entries(registers).map(([name, text]) => [name, text.replaceAll('\n', '\r\n')]),
  )
  t.strictSame(findWrong(windows, register), [], 'the ends of lines are kept')
  t.equal(register(undefined), undefined, 'no file')
  t.end()
})

t.test('imports are added in the order of Biome', t => {
  const ordered = [
    "import path from 'node:path'",
    "import { t } from 'tap'",
    "import { b } from '../../kernel/b.ts'",
    "import type { a } from '../a.ts'",
    "import { c2 } from './c-2.ts'",
    "import { c9 } from './c9.ts'",
    "import { c10 } from './c10.ts'",
    "import { c10b } from './c10b.ts'",
  ]
  const toText = (lines: readonly string[]) => [...lines, '', 'code()', ''].join('\n')
  t.equal(orderImports(toText(ordered.toReversed())), toText(ordered))
  for (const line of ordered.filter(line => line.startsWith('import {'))) {
    t.equal(addImport(toText(ordered.filter(other => other !== line)), line), toText(ordered))
    t.equal(addImport(toText(ordered), line), toText(ordered), 'it is there')
  }
  const added = "import { a } from './a.ts'"
  t.equal(addImport("import { a } from './b.ts'\n", added), undefined, 'the name means something else')
  t.equal(addImport('#!/usr/bin/env node\ncode()\n', added), `#!/usr/bin/env node\n${added}\n\ncode()\n`)
  t.equal(
    orderImports("import './a.ts'\nimport { type C, a, b } from 'b'\n"),
    "import { a, b, type C } from 'b'\nimport './a.ts'\n",
  )
  t.equal(orderImports('no code'), 'no code')
  t.end()
})
