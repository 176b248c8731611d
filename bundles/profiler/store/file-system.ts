import fs, { type Mode } from 'node:fs'
import { chmod, lstat, mkdir, open, readdir, rename, unlink } from 'node:fs/promises'

/** What the store needs of a disk. */
export interface FileSystem {
  mkdir(directory: string, options: { recursive: true; mode: Mode }): Promise<string | undefined>
  chmod(file: string, mode: Mode): Promise<void>
  open(file: string, flags: number, mode?: Mode): Promise<OpenFile>
  lstat(file: string): Promise<FileState>
  readdir(directory: string): Promise<string[]>
  rename(from: string, to: string): Promise<void>
  unlink(file: string): Promise<void>
  mkdirSync(directory: string, options: { recursive: true; mode: Mode }): string | undefined
  openSync(file: string, flags: number, mode: Mode): number
  fchmodSync(file: number, mode: Mode): void
  writeSync(file: number, bytes: Buffer, offset: number, length: number): number
  closeSync(file: number): void
  /** Tells the names of the files in a directory that change, until the returned function is called. It keeps no process running. */
  watch(directory: string, onChange: (file: string) => void): () => void
}

/** A file that is open. */
export interface OpenFile {
  read(bytes: Buffer, offset: number, length: number, position: number): Promise<{ readonly bytesRead: number }>
  write(bytes: Buffer, offset: number, length: number): Promise<{ readonly bytesWritten: number }>
  stat(): Promise<FileState>
  chmod(mode: Mode): Promise<void>
  truncate(length: number): Promise<void>
  close(): Promise<void>
}

/** What is known of a file without reading it. */
export interface FileState {
  readonly size: number
  readonly mode: number
  readonly uid: number
  readonly nlink: number
  /** When it was written last, in milliseconds since 1970. */
  readonly mtimeMs: number
  isFile(): boolean
}

/** The disk of this machine. */
export const nodeFileSystem: FileSystem = {
  mkdir,
  chmod,
  open,
  lstat,
  readdir: directory => readdir(directory),
  rename,
  unlink,
  mkdirSync: fs.mkdirSync,
  openSync: fs.openSync,
  fchmodSync: fs.fchmodSync,
  writeSync: fs.writeSync,
  closeSync: fs.closeSync,
  watch(directory, onChange) {
    const watcher = fs.watch(directory, { persistent: false }, (_event, file) => onChange(String(file)))
    // What cannot be watched any more is not.
    watcher.on('error', () => watcher.close())
    return () => watcher.close()
  },
}
