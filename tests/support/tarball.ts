import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import { gzipSync } from 'node:zlib'

/** One file of a tarball: its path below the root of the package, its bytes, and whether it can be executed. */
export interface TarFile {
  readonly path: string
  readonly content: Buffer
  readonly isExecutable: boolean
}

/** Lists the files of an installed package, without the packages below it. */
export function readPackage(directory: string): TarFile[] {
  const files = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => path.join(entry.parentPath, entry.name))
    .filter(file => !path.relative(directory, file).split(path.sep).includes('node_modules'))
  return files.sort().map(file => ({
    path: path.relative(directory, file).replaceAll(path.sep, '/'),
    content: readFileSync(file),
    isExecutable: (statSync(file).mode & 0o111) !== 0,
  }))
}

/** Makes a tarball as npm reads it: the files are in a folder `package`. The bytes depend only on the files. */
export function createTarball(files: readonly TarFile[]): Buffer {
  const parts = files.flatMap(({ path, content, isExecutable }) => {
    const name = `package/${path}`
    const mode = isExecutable ? 0o755 : 0o644
    const long = name.length > 100 ? [...entry('pax', 'x', pathRecord(name), 0o644)] : []
    return [...long, ...entry(name.slice(-100), '0', content, mode)]
  })
  // Compression would take longer than the loopback interface saves.
  return gzipSync(Buffer.concat([...parts, Buffer.alloc(1_024)]), { level: 0 })
}

/** The `dist.integrity` of a packument. */
export function integrityOf(tarball: Buffer): string {
  return `sha512-${createHash('sha512').update(tarball).digest('base64')}`
}

/** An entry of the ustar format: a header, the content, and zeros up to a multiple of 512 bytes. */
function entry(name: string, type: string, content: Buffer, mode: number): Buffer[] {
  const header = Buffer.alloc(512)
  const octal = (value: number, at: number, size: number) =>
    header.write(`${value.toString(8).padStart(size - 1, '0')}\0`, at)
  header.write(name, 0)
  octal(mode, 100, 8)
  octal(0, 108, 8)
  octal(0, 116, 8)
  octal(content.length, 124, 12)
  octal(0, 136, 12)
  header.write(' '.repeat(8), 148)
  header.write(type, 156)
  header.write('ustar\x0000', 257)
  const sum = header.reduce((total, byte) => total + byte, 0)
  header.write(`${sum.toString(8).padStart(6, '0')}\0 `, 148)
  return [header, content, Buffer.alloc(-content.length & 511)]
}

/** The extended header of a path that is longer than the field of the format: `<length> path=<path>\n`. */
function pathRecord(name: string): Buffer {
  const rest = ` path=${name}\n`
  const digits = String(rest.length + 3).length
  return Buffer.from(`${rest.length + digits}${rest}`)
}
