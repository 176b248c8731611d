import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'

/** How the compiler is called. */
export interface CompilerPlan {
  /** The command lines of a build. Before one of them begins, all before it have succeeded. */
  readonly quick: readonly (readonly string[])[]
  readonly thorough: readonly (readonly string[])[]
  readonly tests: readonly (readonly string[])[]
  /** The folders of sources whose output is removed together with its source. */
  readonly folders: readonly string[]
  /** Writes the files that the command lines need. */
  prepare(output: string): void
}

/** The package itself, in its repository. */
export const packagePlan: CompilerPlan = {
  quick: [['--build']],
  thorough: [
    ['--project', 'bundles/profiler/client'],
    ['--project', '.'],
  ],
  tests: [['--build', '--stopBuildOnErrors', 'tests']],
  folders: ['bin', 'bundles', 'kernel', 'lib'],
  prepare() {},
}

const applicationBuild = [['--project', 'dist']]

/** An application. The tests are compiled apart, so that a mistake in a test does not keep the server from starting. */
export const applicationPlan: CompilerPlan = {
  quick: applicationBuild,
  thorough: applicationBuild,
  tests: [['--project', 'dist/tests']],
  folders: ['bundles'],
  prepare(output) {
    writeProject(output, '..', ['bundles', 'instrumentation.ts'])
    writeProject(path.join(output, 'tests'), '../..', ['bundles', 'instrumentation.ts', 'tests'])
  },
}

/**
 * Writes the project of a compiler, which is independent of `noEmit` and `include` of the application's own project.
 * `root` is the way from its folder to the application.
 */
function writeProject(folder: string, root: string, include: readonly string[]): void {
  const compilerOptions = {
    rootDir: root,
    outDir: `${root}/dist`,
    noEmit: false,
    noEmitOnError: true,
    composite: false,
    declaration: false,
    isolatedDeclarations: false,
    incremental: true,
    tsBuildInfoFile: '.tsbuildinfo',
    sourceMap: true,
    rewriteRelativeImportExtensions: true,
  }
  const project = {
    extends: `${root}/tsconfig.json`,
    compilerOptions,
    include: include.map(name => `${root}/${name}`),
    exclude: [],
    references: [],
  }
  writeWhenNew(path.join(folder, 'tsconfig.json'), JSON.stringify(project, undefined, 2))
}

function writeWhenNew(file: string, text: string): void {
  if (existsSync(file) && readFileSync(file, 'utf8') === text) return
  mkdirSync(path.dirname(file), { recursive: true })
  writeFileSync(file, text)
}
