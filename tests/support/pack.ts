import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Test } from 'tap'
import { runProcess } from './start-process.ts'

/** A tarball that `npm pack` has made: its file name, the files in it, and its size in bytes. */
export interface Packed {
  readonly file: string
  readonly files: readonly string[]
  readonly size: number
}

/** What a copy of this repository does not need. The packages are linked. */
const left: readonly string[] = ['.git', '.tap', 'bench', 'coverage', 'dist/tests', 'node_modules', 'tests', 'var']

/** Runs `npm pack`, for a tarball in another folder: in a copy of this repository, because it changes `dist/`. */
export async function packPackage(t: Test, destination: string): Promise<Packed> {
  const copy = mkdtempSync(path.join(tmpdir(), 'sinfonietta-pack-'))
  try {
    cpSync('.', copy, { recursive: true, preserveTimestamps: true, filter: file => !left.includes(file) })
    symlinkSync(path.resolve('node_modules'), path.join(copy, 'node_modules'))
    const command = ['npm', 'pack', '--json', '--pack-destination', destination]
    const { stdout } = await runProcess(t, command, { cwd: copy })
    // npm prints the output of the build before it.
    const [result] = JSON.parse(stdout.slice(stdout.search(/^\[/m)))
    return { file: result.filename, files: result.files.map(({ path }: { path: string }) => path), size: result.size }
  } finally {
    rmSync(copy, { recursive: true })
  }
}
