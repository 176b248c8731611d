import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

/** A tarball that `npm pack` has made: its file name, the files in it, and its size in bytes. */
export interface Packed {
  readonly file: string
  readonly files: readonly string[]
  readonly size: number
}

/** Runs `npm pack` in this repository, for a tarball in another folder. */
export async function packPackage(destination: string): Promise<Packed> {
  // Tap adds its own options to the environment of each child process.
  const parameters = ['-u', 'NODE_OPTIONS', 'npm', 'pack', '--json', '--pack-destination', destination]
  const { stdout } = await promisify(execFile)('env', parameters, { maxBuffer: 2 ** 24 })
  // npm prints the output of the build before it.
  const [result] = JSON.parse(stdout.slice(stdout.search(/^\[/m)))
  return {
    file: result.filename,
    files: result.files.map(({ path }: { path: string }) => path),
    size: result.size,
  }
}
