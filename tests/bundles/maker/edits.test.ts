import { type Test, t } from 'tap'
import { orderImports } from '#bundles/maker/import-order.ts'
import { addImport, listBundle, registerInBundle } from '#bundles/maker/source-edits.ts'
import { applyEdits, parseSource } from '#bundles/maker/syntax.ts'

/** A file before and after a change: «added» parts are only in the second text, ‹removed› parts only in the first. */
function readChange(marked: string): { before: string; after: string } {
  const before = marked.replace(/«[^»]*»/g, '').replace(/[‹›]/g, '')
  const after = marked.replace(/‹[^›]*›/g, '').replace(/[«»]/g, '')
  return { before, after }
}

type Change = (text: string) => string | undefined

function checkTable(t: Test, table: Readonly<Record<string, string>>, head: string, change: Change): void {
  for (const [name, marked] of Object.entries(table)) {
    const { after, before } = readChange(head + marked)
    t.equal(change(before), after === before ? undefined : after, name)
  }
}

const long = Array.from({ length: 6 }, (_, number) => `photographs${number}Bundle`)
const spread = (mark: string) =>
  `‹[${long.join(', ')}]›«[\n${[...long, 'shopBundle'].map(name => `${mark}  ${name},\n`).join('')}${mark}]»`

/** Spellings of lists. A list without a change is left to the user. */
const lists = {
  'a list of names':
    'export async function createBundles() {\n  const bundles = [a, b«, shopBundle»]\n  return bundles\n}\n',
  'an empty list': 'export const createBundles = async () => [«shopBundle»]\n',
  'with a type':
    'export function createBundles() {\n  const bundles: readonly Bundle[] = [a()«, shopBundle»]\n  return bundles\n}\n',
  'with satisfies and as': 'export const createBundles = () => [a«, shopBundle»] as const satisfies Bundle[]\n',
  'in parentheses': 'export const createBundles = function () {\n  return ([a«, shopBundle»])\n}\n',
  'calls with options': "export const createBundles = async () => [a({ b: ['c', 'd]'] }, [e])«, shopBundle»]\n",
  'a comma at the end': 'export const createBundles = async () => [a, b,« shopBundle,»]\n',
  'lines, commas and comments':
    'export const createBundles = async () => [\n  // the first\n  a,\n  b({\n    c: 1,\n  }), // the [last]\n«  shopBundle,\n»]\n',
  'lines without a comma at the end':
    'export const createBundles = () => [\n\ta,\n\tb«,» /* the last */\n«\tshopBundle\n»]\n',
  'lines with comments before the comma':
    'export const createBundles = () => [\n  a /* one */ /* , two */,«\n  shopBundle,»\n  ...b\n]\n',
  'only a comment': 'export const createBundles = () => [\n  // nothing yet\n«  shopBundle,\n»]\n',
  'a comment within': `export const createBundles = () => [${long.join(', ')}«, shopBundle» /* all */]\n`,
  'a long line': `export async function createBundles() {\n  return ${spread('  ')}\n}\n`,
  'bundles of development stay the last':
    'export const createBundles = async ({ isDebug }) => [a,« shopBundle,» ...(isDebug ? [b] : [])]\n',
  'a spread of an imported list': 'export const createBundles = async () => [...others«, shopBundle»]\n',
  'a list with and without development':
    'export async function createBundles(config) {\n  const bundles = [a«, shopBundle»]\n  return config.isDebug ? [...(await load()), ...bundles] : bundles\n}\nasync function load() {\n  return [b]\n}\n',
  'two returns':
    'const all = [a«, shopBundle»]\nexport function createBundles(debug) {\n  if (!debug) return all\n  return all.concat([b])\n}\n',
  'a push afterwards':
    'export function createBundles(debug) {\n  const all = [a«, shopBundle»]\n  if (debug) all.push(b)\n  return all\n}\n',
  'a call around the list': 'export const createBundles = () => Promise.resolve(Object.freeze([a«, shopBundle»]))\n',
  'a call of a function of the file':
    'const create = () => [a«, shopBundle»]\nexport const createBundles = async () => await create()\n',
  'destructured from an object':
    'export function createBundles() {\n  const { c, all: bundles } = { c: [], all: [a«, shopBundle»] }\n  return bundles\n}\n',
  'a property of an object':
    'const groups = { all: [a«, shopBundle»] }\nexport const createBundles = () => groups.all\n',
  'a hole': 'export const createBundles = () => [, a«, shopBundle»]\n',
  'two different lists': 'export const createBundles = debug => (debug ? [a, b] : [a])\n',
  'an unknown list': 'export const createBundles = async () => others\n',
  'a list of another file': 'export const createBundles = async () => load()\n',
  'an unknown property': 'const groups = load()\nexport const createBundles = () => groups.all ?? groups[0]\n',
  'a computed property': "const groups = { all: [a] }\nexport const createBundles = () => groups['all']\n",
  'a function within':
    'export function createBundles() {\n  const others = () => {\n    return [b]\n  }\n  return [a(others)«, shopBundle»]\n}\n',
  'a property of a call': 'export const createBundles = () => load().all\n',
  'a name that leads to itself': 'const { bundles } = bundles\nexport const createBundles = () => bundles\n',
  'a destructured rest': 'const { ...bundles } = { a: [] }\nexport const createBundles = () => bundles\n',
  'a missing property': 'const { [name]: bundles } = { a: [], ...b }\nexport const createBundles = () => bundles\n',
  'no function': 'export const createBundles = bundles\n',
  'a return without a value': 'export function createBundles() {\n  return\n}\n',
  'no declaration': 'export { createBundles } from "./others.ts"\n',
  'a syntax error': 'export const createBundles = () => [a\n',
}

t.test('a bundle is added to the list of bundles, however it is written', async t => {
  const head = "import { a } from './a.ts'\n«import { shopBundle } from './shop/shop-bundle.ts'\n»\n"
  const unchanged = head.replace(/«[^»]*»/, '')
  for (const [name, list] of Object.entries(lists)) {
    const change: Change = text => listBundle(text, 'shopBundle', './shop/shop-bundle.ts').text
    checkTable(t, { [name]: list }, list.includes('«') ? head : unchanged, change)
  }
})

const empty = '(«app») {‹}›«\n    add(app)\n  }»'

/** Spellings of `register`. One without a change is left to the user. */
const registers = {
  'an empty method': `export const b: Bundle = {\n  register${empty},\n}\n`,
  'an empty function': `export const b: Bundle = {\n  register: function ${empty},\n}\n`,
  'an empty arrow function': 'export const b: Bundle = {\n  register: («app») => {‹}›«\n    add(app)\n  }»,\n}\n',
  'a method with statements':
    'export const b: Bundle = {\n  register(app) {\n    c(app)\n\n    // all\n«    add(app)\n»  },\n}\n',
  'an async method with types':
    'export const b: Bundle = {\n  async register(app: Application): Promise<void> {\n    await c(app)\n«    add(app)\n»  },\n}\n',
  'another name of the parameter':
    "export const b = {\n\t'register': (it: Application) => {\n\t\tc(it)\n«\t\tadd(it)\n»\t}\n} satisfies Bundle\n",
  'a destructured parameter':
    'export const b: Bundle = {\n  register(‹{ routes, view }›«app») {«\n    const { routes, view } = app»\n    routes.add(view)\n«    add(app)\n»  },\n}\n',
  'a destructured parameter with a type':
    'export const b: Bundle = {\n  register: (‹{\n    routes: { add },\n  }›«app»: Application) => {«\n    const {\n    routes: { add },\n  } = app»\n    add()\n«    add(app)\n»  },\n}\n',
  'a destructured parameter without names':
    'export const b: Bundle = {\n  register(‹{}›«app») {‹}›«\n    const {} = app\n    add(app)\n  }»,\n}\n',
  'an arrow function with an expression':
    'export const b: Bundle = {\n  register: app => ‹c(app)›«{\n    add(app)\n    return c(app)\n  }»,\n}\n',
  'an arrow function without a result':
    'export const b: Bundle = {\n  register: (‹{ routes }›«app») => ‹void routes.add(1)›«{\n    const { routes } = app\n    add(app)\n    void routes.add(1)\n  }»,\n}\n',
  'an arrow function with parentheses':
    'export const b: Bundle = {\n  register: async app => ‹(await c(app))›«{\n    add(app)\n    return (await c(app))\n  }»,\n}\n',
  'a return at the end':
    'export const b: Bundle = {\n  async register(app) {\n    if (c) return\n«    add(app)\n»    return d(app)\n  },\n}\n',
  'one line':
    'export const b: Bundle = {\n  register(app) {‹ c(app); return d(app) }›«\n    c(app);\n    add(app)\n    return d(app)\n  }»,\n}\n',
  'a brace behind a statement':
    'export const b: Bundle = {\n  register(app) {‹\n    c(app) }›«\n    c(app)\n    add(app)\n  }»,\n}\n',
  'a comment in the parentheses':
    'export const b: Bundle = {\n  register: /* (a) */ function /* () */ («app»/* () */) {‹ /* d */ }›«\n    /* d */\n    add(app)\n  }»,\n}\n',
  'the result of a function':
    'export function createBundle({ c }: Options = {}): Bundle {\n    return {\n        register(app) {\n            c(app)\n«            add(app)\n»        },\n    }\n}\n',
  'a function by its name':
    'export const b: Bundle = { register }\n\nasync function register(app: Application) {\n  c(app)\n«  add(app)\n»}\n',
  'a variable by its name':
    'const start = (app: Application): void => {\n  c(app)\n«  add(app)\n»}\nexport const b: Bundle = { register: start }\n',
  'a class':
    'export class B implements Bundle {\n  register(app: Application): void {\n    c(app)\n«    add(app)\n»  }\n}\n',
  'a property of a class':
    'export class B implements Bundle {\n  readonly register = (app: Application) => {\n    c(app)\n«    add(app)\n»  }\n}\n',
  'a statement that is there': 'export const b: Bundle = {\n  register(app) {\n    add(app)\n  },\n}\n',
  'a default value': 'export const b: Bundle = {\n  register({ routes } = c) {},\n}\n',
  'a name that is taken': 'export const b: Bundle = {\n  register({ routes }) {\n    const app = c\n  },\n}\n',
  'two bundles': 'export const b: Bundle = {\n  register() {},\n}\nexport const c: Bundle = {\n  register() {},\n}\n',
  'a function of another file': 'export const b: Bundle = { register: c, close: d }\n',
  'a call': 'export const b: Bundle = { register: c(() => {}) }\n',
  'a computed name': 'export const b: Bundle = { [register]() {}, 1: 2 }\n',
  'a name of another import': "import { add } from 'others'\nexport const b: Bundle = { register() {} }\n",
  'a private method': 'export class B {\n  #register() {}\n}\n',
  'an abstract class':
    'export abstract class B implements Bundle {\n  abstract register(app: Application): void\n  name?: string\n  register?: () => void\n}\n',
  'a syntax error': 'export const b: Bundle = { register() {}\n',
}

const addStatement: Change = text => registerInBundle(text, "import { add } from './add.ts'", app => `add(${app})`).text

t.test('a statement is added to the register of a bundle, however it is written', async t => {
  for (const [name, register] of Object.entries(registers)) {
    const added = register.includes('«') ? "«import { add } from './add.ts'\n»" : ''
    checkTable(
      t,
      { [name]: register },
      `import type { Application, Bundle } from 'sinfonietta'\n${added}\n`,
      addStatement,
    )
  }
  t.equal(registerInBundle(undefined, '', () => '').text, undefined, 'no file')
})

t.test('a parameter whose type TypeScript cannot know has its type', async t => {
  const line = "«import type { Application } from 'sinfonietta'\n»"
  const body = '(«app: Application») {‹}›«\n  add(app)\n}»\n'
  const types = {
    'a class': `export class B {\n  register${body.replaceAll('\n}»', '\n  }»').replace('\n  add', '\n    add')}}\n`,
    'a function': `function register${body}export const b: Bundle = { register }\n`,
  }
  checkTable(t, types, `${line}«import { add } from './add.ts'\n»import { c } from './c.ts'\n\n`, addStatement)
})

t.test('the style of a file is kept', async t => {
  const windows = (text: string) => text.replaceAll('\n', '\r\n')
  const marked = windows(
    'import { type Bundle } from "sinfonietta"; // types\n«import { add } from "./add.ts";\n»import {\n  d,\n} from "./d.ts";\n\nexport const b: Bundle = {\n  register(‹{ c }›«app») {«\n    const { c } = app;»\n    c();\n«    add(app);\n»  },\n};\n',
  )
  checkTable(t, { windows: marked }, '', addStatement)
  t.equal(
    addStatement("const b = { register(app) {} }; import 'a'"),
    "const b = { register(app) {\n  add(app);\n} }; import 'a'\nimport { add } from './add.ts'",
  )
  const commented =
    "#!/usr/bin/env node\n«import { add } from './add.ts'\n\n»/** The bundle. */\nexport const b = { register(app) {\n«  add(app)\n»} }\n"
  checkTable(
    t,
    { 'no import': commented.replace('#!/usr/bin/env node\n', ''), 'a program': commented },
    '',
    addStatement,
  )
})

t.test('imports are added in the order of Biome', async t => {
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
  const add = (text: string, line: string) => {
    const source = parseSource(text)
    const edits = source && addImport(source, line)
    return source && edits && applyEdits(source, edits)
  }
  for (const line of ordered) {
    t.equal(add(toText(ordered.filter(other => other !== line)), line), toText(ordered))
    t.equal(add(toText(ordered), line), toText(ordered), 'it is there')
  }
  t.equal(add("import { a } from './b.ts'\n", "import { a } from './a.ts'"), undefined, 'the name means something else')
  t.equal(add('code()\n', 'no import'), undefined)
  t.equal(
    orderImports("import './a.ts'\nimport { type C, a, b } from 'b'\n"),
    "import { a, b, type C } from 'b'\nimport './a.ts'\n",
  )
  t.equal(orderImports('no code'), 'no code')
})
