import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { packageDirectory } from '../../../lib/package.ts'
import { home } from '../profile/links.ts'

/** A file that the pages of the profiler need. */
interface Asset {
  readonly content: Buffer
  readonly type: string
}

const types = {
  css: 'text/css; charset=UTF-8',
  js: 'text/javascript; charset=UTF-8',
  svg: 'image/svg+xml',
}

/** The modules that pages load: each is joined with its imports to one file. */
const scripts = ['profiler.js', 'toolbar.js', 'browser-errors.js'] as const

/** The mark on the icon of a page that shows an error. */
const mark = '<circle cx="29" cy="29" r="10" fill="#e5484d" stroke="#15171a" stroke-width="2"/>'

/** These stylesheets come first, because all others use them. */
const firstStyles: readonly string[] = ['tokens.css', 'base.css', 'parts.css']

/**
 * The profiler's one stylesheet, its scripts and its icon, below a path that changes with their
 * content. They are not among the application's static files, which are public. They are read once,
 * with the first request for one of them. The path of a file on the disk contains no part of a request.
 */
export class Assets {
  readonly #folder: string
  readonly #modules: string
  #files: ReadonlyMap<string, Asset> | undefined
  #version = ''

  /** `folder` has the icon, and the stylesheets in `styles`; `modules` has the compiled code for browsers. */
  constructor(folder: string, modules: string) {
    this.#folder = folder
    this.#modules = modules
  }

  /** The path of a file, such as `/_profiler/assets/1a2b3c4d/profiler.css`. */
  link(name: string): string {
    this.#read()
    return `${home}assets/${this.#version}/${name}`
  }

  /** A file of a version; `undefined` when the file does not exist, or the version has changed. */
  find(version: string, name: string): Asset | undefined {
    const files = this.#read()
    return version === this.#version ? files.get(name) : undefined
  }

  /** The text of the stylesheet, for a file that contains it. */
  get stylesheet(): string {
    return String(this.#read().get('profiler.css')?.content ?? '')
  }

  /** Discards the files: the next request for one of them reads them again. */
  forget(): void {
    this.#files = undefined
  }

  #read(): ReadonlyMap<string, Asset> {
    if (this.#files !== undefined) return this.#files
    const icon = readFileSync(path.join(this.#folder, 'icon.svg'), 'utf8')
    const files = new Map<string, Asset>([
      ['profiler.css', { content: dense(joinStyles(path.join(this.#folder, 'styles'))), type: types.css }],
      ['icon.svg', { content: Buffer.from(icon), type: types.svg }],
      ['icon-error.svg', { content: Buffer.from(icon.replace('</svg>', `${mark}</svg>`)), type: types.svg }],
    ])
    for (const name of scripts) {
      files.set(name, { content: dense(joinModules(this.#modules, name)), type: types.js })
    }
    const hash = createHash('sha256')
    for (const [name, { content }] of files) hash.update(name).update(content)
    this.#version = hash.digest('hex').slice(0, 8)
    this.#files = files
    return files
  }
}

/** The files of the package. */
export function createAssets(): Assets {
  return new Assets(path.join(packageDirectory, 'bundles/profiler/assets'), path.join(import.meta.dirname, '../client'))
}

/** Indentation is a sixth of the code. No text of it has several lines, which a test checks. */
function dense(text: string): Buffer {
  return Buffer.from(text.replaceAll(/\s*\n\s*/g, '\n'))
}

/** The compiler removes the comments of scripts. */
function joinStyles(folder: string): string {
  const others = readdirSync(folder).filter(name => !firstStyles.includes(name))
  const names = [...firstStyles, ...others.sort()]
  return names.map(name => readFileSync(path.join(folder, name), 'utf8').replaceAll(/\/\*.*?\*\//gs, '')).join('')
}

const importLine = /^import \{ [\w$]+(?:, [\w$]+)*,? \} from ["']\.\/([\w-]+\.js)["'];\n/gm
const exportWord = /^export (?=(?:async function|function|class|const) ([\w$]+))/gm
const noExports = /^export \{\};\n/gm

/**
 * Joins a module with all modules that it imports, directly or not, to one script without imports. The
 * imported modules become functions whose results are constants: no two of them export the same name. Only the
 * forms that the compiler writes for the code of browsers are known: imports from files of the same folder, by
 * the names of the exports, and exported declarations.
 *
 * @throws when a module has another import or export
 */
export function joinModules(folder: string, entry: string): string {
  const parts: string[] = []
  const known = new Set<string>()
  const add = (name: string): string => {
    const text = readFileSync(path.join(folder, name), 'utf8')
    const names = [...text.matchAll(exportWord)].map(([, exported]) => exported)
    for (const [, imported = ''] of text.matchAll(importLine)) {
      if (known.has(imported)) continue
      known.add(imported)
      parts.push(add(imported))
    }
    const body = text.replace(importLine, '').replace(exportWord, '').replace(noExports, '')
    const [unknown] = /^(?:import|export)\b.*/m.exec(body) ?? []
    if (unknown !== undefined) throw new Error(`The module ${name} cannot be joined: "${unknown}" has an unknown form.`)
    const exports = `{ ${names.join(', ')} }`
    return name === entry ? body : `const ${exports} = (() => {\n${body}return ${exports};\n})();\n`
  }
  const body = add(entry)
  return parts.join('') + body
}
