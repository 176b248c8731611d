import type { AnyNode } from 'acorn'
import { asFlag, type Conversion, createFrameworkBundle, createPageCache } from 'sinfonietta'
import { createOpenTelemetryBundle } from 'sinfonietta/opentelemetry'
import { createProfilerBundle } from 'sinfonietta/profiler'
import { readConfig } from '#lib/env/config.ts'
import { type Environment, environments } from '#lib/env/dotenv.ts'
import { type BundleSettings, type Setting, Settings } from '#lib/env/settings.ts'
import { docBefore, readSource } from './doc-comments.ts'
import { code, linkGuides, writeTable } from './markdown.ts'
import { listNodes } from './syntax.ts'

type Definitions = Readonly<Record<string, Setting>>

/** The settings of this package, by the names of their bundles; some of the kernel's depend on the environment. */
export function readSettings(environment: Environment): Readonly<Record<string, Definitions>> {
  return {
    kernel: readKernelSettings(environment),
    framework: definitionsOf(createFrameworkBundle().settings),
    'page-cache': definitionsOf(createPageCache().settings),
    profiler: definitionsOf(createProfilerBundle().settings),
    opentelemetry: definitionsOf(createOpenTelemetryBundle().settings),
  }
}

function definitionsOf(settings: BundleSettings | undefined): Definitions {
  return { ...settings?.definitions }
}

function readKernelSettings(environment: Environment): Definitions {
  let found: BundleSettings | undefined
  class Declarations extends Settings {
    override declare<values>(_bundle: string, settings: BundleSettings<values>): Partial<values> {
      found = settings
      return {}
    }
  }
  readConfig(new Declarations({ variables: { APP_ENV: environment } }))
  return definitionsOf(found)
}

/** The files with the declarations; the doc comment of a setting says more than its help, as Markdown. */
const files: Readonly<Record<string, string>> = {
  kernel: 'lib/env/config.ts',
  framework: 'bundles/framework/framework-bundle.ts',
  'page-cache': 'bundles/page-cache/page-cache.ts',
  profiler: 'bundles/profiler/settings.ts',
  opentelemetry: 'bundles/opentelemetry/settings.ts',
}

/** The kernel, and the bundles that have settings. */
export const settingOwners: readonly string[] = Object.keys(files)

/** Writes the table of the settings of a bundle. */
export function writeSettings(bundle: string): string {
  const source = readSource(String(files[bundle]))
  const properties = new Map<string, AnyNode>()
  for (const node of listNodes(source.program)) {
    if (node.type === 'Property' && node.key.type === 'Identifier' && node.value.type === 'ObjectExpression') {
      properties.set(node.key.name, node)
    }
  }
  const rows = Object.entries(readSettings('dev')[bundle] ?? {}).map(([name, { help, schema, secret }]) => {
    const property = properties.get(name)
    const more = property === undefined ? '' : linkGuides(docBefore(source, property))
    return [
      code(name),
      describeType(schema),
      describeDefault(bundle, name),
      secret ? 'yes' : '',
      [markCode(help), more].filter(Boolean).join('. '),
    ]
  })
  return writeTable(['Name', 'Type', 'Default', 'Secret', 'Meaning'], rows)
}

function describeType(schema: Setting['schema']): string {
  if (schema === undefined) return 'text'
  if (schema === asFlag) return 'flag'
  const { expected } = schema as Conversion<unknown>
  const [, list = '', choices] = /^(a list with commas, each entry )?(?:one of (.*))?/.exec(expected) ?? []
  const one =
    choices === undefined ? markCode(expected.slice(list.length)) : `one of ${choices.split(', ').map(code).join(', ')}`
  return `${list && 'list: '}${one}`
}

/** A default that depends on the environment is listed for each. */
function describeDefault(bundle: string, name: string): string {
  const all = environments.map(environment => ({
    environment: code(environment),
    text: formatDefault(readSettings(environment)[bundle]?.[name]),
  }))
  const texts = [...new Set(all.map(({ text }) => text))]
  if (texts.length === 1) return texts.join()
  return texts
    .map(text => [text, all.filter(each => each.text === text).map(({ environment }) => environment)] as const)
    .map(([text, among]) => `${text} in ${among.join(' and ')}`)
    .join(', ')
}

function formatDefault(setting: Setting = { help: '' }): string {
  const { default: value } = setting
  if (!('default' in setting)) return 'none, must be set'
  if (typeof value === 'boolean') return value ? 'on' : 'off'
  if (Array.isArray(value)) return value.length === 0 ? 'none' : value.map(code).join(', ')
  return typeof value === 'string' || typeof value === 'number' ? code(String(value)) : 'none'
}

/** Help is text: names of settings, URLs and paths in it become code. */
function markCode(text: string): string {
  return text.replaceAll(
    /(?<!\w)(?:[a-z]+:\/\/(?:[^\s,]*[^\s,:;])?|[A-Z]+_[A-Z_]*(?:=\w+)?|\{\w+\}|[\w.]*\/[\w./=]*\w|(?:[\w.]+,)?\*\.[\w.]+)/g,
    '`$&`',
  )
}
