import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'

/** How the compiler is called: the command lines of each task. Before one of them begins, all before it have succeeded. */
export interface CompilerPlan {
  /** Checks the types, and writes the output of sources without a mistake. It may compare the times of the files. */
  readonly build: readonly (readonly string[])[]
  /** Writes the output also of wrong types, in a tenth of the time. It compares contents. */
  readonly emit: readonly (readonly string[])[]
  /** Finds wrong types after `emit`. */
  readonly check: readonly (readonly string[])[]
  readonly tests: readonly (readonly string[])[]
  /** The folders of sources whose output is removed together with its source. */
  readonly folders: readonly string[]
  /** Writes the files that the command lines need. */
  prepare(output: string): void
}

const packageBuild = [['--build']]

/** The package itself, in its repository. */
export const packagePlan: CompilerPlan = {
  build: packageBuild,
  emit: [
    ['--project', 'bundles/profiler/client', '--noCheck'],
    ['--project', '.', '--noCheck'],
  ],
  check: packageBuild,
  tests: [['--build', '--stopBuildOnErrors', 'tests']],
  folders: ['bin', 'bundles', 'kernel', 'lib'],
  prepare() {},
}

const applicationEmit = [['--project', 'dist/compiler']]
const applicationCheck = [['--project', 'dist/compiler/check.json']]

/** An application. The tests are compiled apart, so that a mistake in a test does not keep the server from starting. */
export const applicationPlan: CompilerPlan = {
  build: [...applicationCheck, ...applicationEmit],
  emit: applicationEmit,
  check: applicationCheck,
  tests: [['--project', 'dist/tests']],
  folders: ['bundles'],
  prepare(output) {
    const include = ['bundles', 'instrumentation.ts']
    const folder = path.join(output, 'compiler')
    const writes = { noEmit: false, noEmitOnError: true, outDir: '../../dist' }
    writeWhenNew(path.join(folder, 'globals.d.ts'), globals)
    writeProject(path.join(folder, 'tsconfig.json'), include, { ...writes, ...withoutTypes }, ['globals.d.ts'])
    writeProject(path.join(folder, 'check.json'), include, { noEmit: true, tsBuildInfoFile: 'check.tsbuildinfo' })
    writeProject(path.join(output, 'tests/tsconfig.json'), [...include, 'tests'], writes)
  },
}

/**
 * The compiler reads no package and no library for these options: it only removes the types of each file. Imports of packages
 * lead to an empty file, except for `#` names of the application.
 */
const withoutTypes = {
  tsBuildInfoFile: '../.tsbuildinfo',
  noCheck: true,
  noLib: true,
  lib: null,
  types: [],
  paths: { '*': ['./globals.d.ts'], '#*': ['./none/*'] },
}

/** The types that the compiler cannot do without. */
const globals = [
  'Boolean',
  'CallableFunction',
  'Function',
  'IArguments',
  'NewableFunction',
  'Number',
  'Object',
  'RegExp',
]
  .concat('String', 'Array<T>')
  .map(name => `interface ${name} {}\n`)
  .join('')

/**
 * Writes a project of the compiler, two folders below the application, which is independent of `noEmit` and `include` of the
 * application's own project. Each file is compiled alone: Node 22.18 and later run it like that.
 */
function writeProject(file: string, include: readonly string[], options: object, files: readonly string[] = []): void {
  const compilerOptions = {
    rootDir: '../..',
    composite: false,
    declaration: false,
    isolatedDeclarations: false,
    isolatedModules: true,
    incremental: true,
    tsBuildInfoFile: '.tsbuildinfo',
    sourceMap: true,
    rewriteRelativeImportExtensions: true,
    ...options,
  }
  const project = {
    extends: '../../tsconfig.json',
    compilerOptions,
    files,
    include: include.map(name => `../../${name}`),
    exclude: [],
    references: [],
  }
  writeWhenNew(file, JSON.stringify(project, undefined, 2))
}

function writeWhenNew(file: string, text: string): void {
  if (existsSync(file) && readFileSync(file, 'utf8') === text) return
  mkdirSync(path.dirname(file), { recursive: true })
  writeFileSync(file, text)
}
