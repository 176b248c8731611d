import { existsSync } from 'node:fs'
import { Session } from 'node:inspector'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const isScript = (file: string) => /\.[cm]?[jt]sx?$/.test(file)

const isTest = (file: string) => /(?:^|[\\/])(?:__tests__|tests?)[\\/]|\.(?:spec|test)\.\w+$/.test(file)

/**
 * Chooses those of some edited files, with names relative to the application, that this process works
 * with: an edit of another file has changed nothing. Other files than scripts are read again, but for
 * documents. It is not known which sources a bundle is made of, but no tests. It takes some 20 ms.
 */
export function selectLoaded(files: readonly string[], directory: string): ReadonlySet<string> {
  const shown = files.filter(file => !file.endsWith('.md'))
  const { hasBundles, names, sources } = shown.some(isScript) ? readScripts(directory) : nothing
  const isLoaded = (file: string) => {
    const name = nameOf(file)
    return names.has(name) || sources.has(name) || (hasBundles && !isTest(file))
  }
  return new Set(shown.filter(file => !isScript(file) || isLoaded(file)))
}

/** Scripts that are loaded: their paths in the application, without their endings. */
interface LoadedScripts {
  readonly names: ReadonlySet<string>
  /** The paths of the sources that they were compiled from. */
  readonly sources: ReadonlySet<string>
  /** Whether one of them is made of sources that are not known. */
  readonly hasBundles: boolean
}

const nothing: LoadedScripts = { names: new Set(), sources: new Set(), hasBundles: false }

const nameOf = (file: string) => file.replaceAll('\\', '/').replace(/\.\w+$/, '')

/** The debugger lists all scripts when it begins, to a session in the same thread. It ends at once. */
function readScripts(directory: string): LoadedScripts {
  const [names, sources] = [new Set<string>(), new Set<string>()]
  let hasBundles = false
  const add = (url: string, hasMap: boolean) => {
    if (/^(?:rsc|turbopack|vite|webpack)[\w-]*:/.test(url)) hasBundles = true
    const isFile = url.startsWith('file:') || path.isAbsolute(url)
    if (!isFile) return
    const file = path.relative(directory, url.startsWith('file:') ? fileURLToPath(url) : url)
    if (/^\.\.|(?:^|[\\/])node_modules[\\/]/.test(file) || path.isAbsolute(file)) return
    const name = nameOf(file)
    names.add(name)
    const source = findSource(name, directory)
    if (source !== undefined) sources.add(source)
    else if (file.startsWith('.') || (hasMap && /\.[cm]?js$/.test(file))) hasBundles = true
  }
  const session = new Session()
  session.connect()
  session.on('Debugger.scriptParsed', ({ params: { sourceMapURL = '', url } }) => add(url, sourceMapURL !== ''))
  session.post('Debugger.enable')
  session.post('Debugger.disable')
  session.disconnect()
  return { names, sources, hasBundles }
}

/** The source of a compiled file, such as `src/app.ts` of `dist/app.js`, without its ending. */
function findSource(name: string, directory: string): string | undefined {
  const own = /^(?:build|dist|out)\/(.+)/.exec(name)?.[1]
  if (own === undefined) return undefined
  const candidates = [own, `src/${own}`]
  return candidates.find(source =>
    ['ts', 'tsx', 'mts', 'cts'].some(end => existsSync(path.join(directory, `${source}.${end}`))),
  )
}
