import type { Test } from 'tap'
import { runProcess } from './start-process.ts'

/** A tarball that `npm pack` has made: its file name, the files in it, and its size in bytes. */
export interface Packed {
  readonly file: string
  readonly files: readonly string[]
  readonly size: number
}

/** Runs `npm pack` in this repository, for a tarball in another folder. */
export async function packPackage(t: Test, destination: string): Promise<Packed> {
  // Tap adds its own options to the environment of each child process.
  const command = ['env', '-u', 'NODE_OPTIONS', 'npm', 'pack', '--json', '--pack-destination', destination]
  const { stdout } = await runProcess(t, command)
  // npm prints the output of the build before it.
  const [result] = JSON.parse(stdout.slice(stdout.search(/^\[/m)))
  return {
    file: result.filename,
    files: result.files.map(({ path }: { path: string }) => path),
    size: result.size,
  }
}
