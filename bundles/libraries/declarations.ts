import Module from 'node:module'
import path from 'node:path'
import { noteFailure } from '../../lib/guard.ts'
import { type AnyFunction, observeMethod } from '../../lib/observe-calls.ts'
import { noteCompleted } from '../../lib/stack/source-maps.ts'
import { loadPrototype } from './framework-calls.ts'

/**
 * Take functions and classes that ES modules declare at their top level, by their names. What is
 * returned takes their place.
 */
export type ModuleDeclarations = Readonly<Record<string, (declared: AnyFunction) => AnyFunction | undefined>>

interface Taken {
  readonly declarations: ModuleDeclarations
  readonly pattern: RegExp
  /** A text that the files have, if others may have the same names. */
  readonly beside: string
}

/** The names: most modules have none of them. */
const names: string[] = []

const all: Taken[] = []

/** The part of `node:module` that Node 20 does not have. */
export interface Hooks {
  readonly registerHooks?: (hooks: { load(url: string, context: object, next: Load): Loaded }) => unknown
}

type Load = (url: string, context: object) => Loaded

interface Loaded {
  readonly format?: string | null
  readonly source?: string | ArrayBuffer | NodeJS.TypedArray | null
}

/**
 * Takes declarations of ES modules that are loaded later, also where a bundler has put them into
 * its own files: behind the code, a line is added that passes them on, so each place in the code
 * stays where it is. Nothing happens on Node 20.
 */
export function takeDeclarations(
  declarations: ModuleDeclarations,
  beside = '',
  { registerHooks } = Module as Hooks,
): void {
  if (registerHooks === undefined) return
  // A bundler adds a number to the second one of a name.
  const own = Object.keys(declarations)
  names.push(...own)
  const pattern = new RegExp(
    `^(?:export )?(?:async )?(?:function|class|var|let) ((${own.join('|')})(?:\\$\\d+)?)(?=[ (])`,
    'gm',
  )
  if (all.push({ declarations, pattern, beside }) > 1) return
  registerHooks({
    load(module, context, next) {
      const loaded = next(module, context)
      return loaded.format === 'module' ? complete(loaded) : loaded
    },
  })
}

function complete(loaded: Loaded): Loaded {
  const { source } = loaded
  if (source === null || source === undefined) return loaded
  const text = typeof source === 'string' ? source : toBuffer(source)
  if (!names.some(name => text.includes(name))) return loaded
  const code = text.toString()
  const passed = passAll(code)
  if (passed === '') return loaded
  const completed = `${code}\nimport ${imported('as')} from ${url};${passed}`
  noteCompleted(code, completed)
  return { ...loaded, source: completed }
}

function toBuffer(source: ArrayBuffer | NodeJS.TypedArray): Buffer {
  return 'buffer' in source ? Buffer.from(source.buffer, source.byteOffset, source.byteLength) : Buffer.from(source)
}

/** Takes declarations of modules that a runner of Vite evaluates in development: it loads those of Node. */
export async function openRunner(folder: string): Promise<void> {
  const evaluator = await loadPrototype(path.join(folder, 'dist/node/module-runner.js'), 'ESModulesEvaluator')
  observeMethod(evaluator, 'runInlinedModule', (_, args) => {
    const code = String(args[1])
    const passed = passAll(code)
    if (passed !== '') args[1] = `${code}\nconst ${imported(':')} = await import(${url});${passed}`
  })
}

const url = JSON.stringify(import.meta.url)

const imported = (as: string) => `{ passDeclaration ${as} sinfonietta$pass }`

/** The statements that pass on what a code declares. What it does not declare after all, as in a comment, throws. */
function passAll(code: string): string {
  return all
    .flatMap(({ beside, pattern }, index) =>
      code.includes(beside)
        ? Array.from(code.matchAll(pattern), ([, name, plain]) => {
            return `try{${name}=sinfonietta$pass(${index},"${plain}",${name})}catch{}`
          })
        : [],
    )
    .join('')
}

/** Called by a module that declares a name. */
export function passDeclaration(index: number, name: string, declared: unknown): unknown {
  if (typeof declared !== 'function') return declared
  try {
    return all[index]?.declarations[name]?.(declared as AnyFunction) ?? declared
  } catch (error) {
    noteFailure(error, name)
    return declared
  }
}
