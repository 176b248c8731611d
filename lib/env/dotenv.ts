import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import util from 'node:util'
import { adviseOnReading } from '../folders.ts'
import { nearestNames } from '../text/mistakes.ts'
import { CONFIG_FILE_MALFORMED, CONFIG_FILE_UNREADABLE } from './errors.ts'

/** The environment of the process, merged with the `.env` files. */
interface DotenvResult {
  readonly variables: Readonly<Record<string, string>>
  /** The file of each variable that comes from a file; all others are regular environment variables. */
  readonly files: Readonly<Record<string, string>>
  /** What has no effect in the files, each as the end of a sentence about a file. */
  readonly doubts: readonly string[]
}

/**
 * Reads `.env`, `.env.local` (not for tests), `.env.<environment>` and `.env.<environment>.local` of
 * a directory, as Symfony does: later files win over earlier ones, and the environment of the
 * process wins over all files. The name of the environment is the argument, which then is `APP_ENV`,
 * or else that of {@link environmentOf}. Files may be missing; variables are not expanded.
 *
 * @throws CONFIG_FILE_UNREADABLE CONFIG_FILE_MALFORMED
 */
export function readDotenv(
  directory: string,
  processEnv: Readonly<Record<string, string | undefined>>,
  environment?: string,
): DotenvResult {
  const regular = definedOf(environment === undefined ? processEnv : { ...processEnv, APP_ENV: environment })
  const values: Record<string, string> = {}
  const files: Record<string, string> = {}
  const doubts: string[] = []
  const read = (name: string) => {
    const variables = readFile(path.join(directory, name), doubt => doubts.push(`${name} ${doubt}`))
    Object.assign(values, variables)
    for (const key of Object.keys(variables)) if (!Object.hasOwn(regular, key)) files[key] = name
  }
  const current = () => environmentOf({ ...values, ...regular })

  read('.env')
  if (current() !== 'test') read('.env.local')
  const name = current()
  // Any other name is a mistake, which readConfig reports. It must not become part of a file name.
  if (environments.some(known => known === name)) {
    read(`.env.${name}`)
    read(`.env.${name}.local`)
  }
  return { variables: { ...values, ...regular }, files, doubts }
}

/** The name of the environment: `APP_ENV`, or without it `prod` if `NODE_ENV` is `production`, and else `dev`. */
export function environmentOf({ APP_ENV, NODE_ENV }: Readonly<Record<string, string | undefined>>): string {
  return APP_ENV || (NODE_ENV === 'production' ? 'prod' : 'dev')
}

/**
 * Finds files in a directory whose names are nearly those of `.env` files, and the names by which they
 * would be read. A file may belong to another tool if the right name exists, too.
 */
export function findMisnamedFiles(directory: string): { readonly file: string; readonly name: string }[] {
  const files = readNames(directory)
  return files.flatMap(file => {
    const name = correctName(file)
    return name === undefined || files.includes(name) ? [] : { file, name }
  })
}

function readNames(directory: string): string[] {
  try {
    return readdirSync(directory)
  } catch {
    return []
  }
}

/** What is wrong with the option `--env`, which may be missing, and what would be right. */
export function findEnvironmentMistake(name: string | undefined): string | undefined {
  if (name === undefined || environments.some(known => known === name)) return undefined
  const right = suggestEnvironment(name)
  const isKnown = environments.some(known => known === right)
  return `--env must be one of ${environments.join(', ')}, not "${name}"${isKnown ? `: write --env ${right}` : ''}.`
}

function suggestEnvironment(name: string): string | undefined {
  // Two or three letters are a name of their own: a language, a country.
  return parts[nearestNames(name.trim().toLowerCase(), Object.keys(parts), name.length < 4 ? 0 : 1)[0] ?? '']
}

/** The parts of the names of `.env` files, by what other frameworks call them. */
const parts: Readonly<Record<string, string>> = {
  dev: 'dev',
  development: 'dev',
  prod: 'prod',
  production: 'prod',
  test: 'test',
  testing: 'test',
  local: 'local',
}

/** `.env.prod` for `.env.production`, and `.env.dev.local` for `.env.local.dev`. */
function correctName(file: string): string | undefined {
  const [, rest] = /^\.env[._-](.+)$/.exec(file) ?? []
  if (rest === undefined) return undefined
  const words = rest.split(/[._-]/).map(suggestEnvironment)
  const environment = words.filter(word => word !== 'local')
  const isKnown = environment.length <= 1 && words.length <= 2 && !words.includes(undefined)
  return isKnown ? ['.env', ...environment, ...words.filter(word => word === 'local')].join('.') : undefined
}

function definedOf(variables: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const pairs = Object.entries(variables).filter((pair): pair is [string, string] => pair[1] !== undefined)
  return Object.fromEntries(pairs)
}

type Doubt = (doubt: string) => unknown

function readFile(file: string, report: Doubt): NodeJS.Dict<string> {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    const { code = 'unknown reason' } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return {}
    throw new CONFIG_FILE_UNREADABLE([file, `${code}${adviseOnReading(code)}`], { cause: error })
  }
  // A shell of Windows writes UTF-16 by default.
  if (text.includes('\0')) throw new CONFIG_FILE_UNREADABLE([file, 'it is UTF-16, and must be UTF-8'])
  return parseFile(text.replace(/^\uFEFF/, ''), file, report)
}

/**
 * Parses one statement at a time: with more text `parseEnv` skips parts that it does not understand, and joins or drops
 * lines without an error.
 */
function parseFile(content: string, file: string, report: Doubt): NodeJS.Dict<string> {
  const statement =
    /[ \t]*(?:(?:export[ \t]+)?([A-Za-z_]\w*)[ \t]*=[ \t]*("[^"]*"|'[^']*'|`[^`]*`|[^\s"'`#][^\r\n]*)?[ \t]*)?(?:#[^\r\n]*)?(?:\r?\n|$)/y
  const variables: NodeJS.Dict<string> = {}
  while (statement.lastIndex < content.length) {
    const start = statement.lastIndex
    const match = statement.exec(content)
    const line = () => content.slice(0, start).split('\n').length
    if (match === null) throw new CONFIG_FILE_MALFORMED([file, line()])
    const [all, name, written = ''] = match
    if (name === undefined) continue
    const { [name]: value = '' } = util.parseEnv(`${name}=${written}`)
    if ((variables[name] ?? value) !== value) report(`sets ${name} again at line ${line()}: only this value counts`)
    if (!written.startsWith("'") && hasVariable(value, variables)) report(describeExpansion(name, line()))
    if (/^[^"'`#][^#]*(?<!\s)#/.test(written) || (written === '' && /=#\w/.test(all)))
      report(`ends ${name} before "#" at line ${line()}: write quotes around the text, or a blank before a comment`)
    variables[name] = value
  }
  return variables
}

/** Whether other programs would expand a value: `${NAME}`, or `$NAME` of a variable above it. `\$` is a dollar sign. */
function hasVariable(value: string, known: NodeJS.Dict<string>): boolean {
  const found = [...value.matchAll(/(?<!\\)\$(?:\{\w+(?::?[-=?+][^}]*)?\}|([A-Z]\w+))/g)]
  return found.some(([, name]) => name === undefined || known[name] !== undefined)
}

function describeExpansion(name: string, line: number): string {
  return `has a variable in ${name} at line ${line}, which is not expanded: write its value, or single quotes around the text`
}

/** The environments that an application runs in. */
export const environments = ['dev', 'prod', 'test'] as const

/** One of {@link environments}. */
export type Environment = (typeof environments)[number]
