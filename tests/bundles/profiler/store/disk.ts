import { type FileSystem, nodeFileSystem, type OpenFile } from '#bundles/profiler/store/file-system.ts'

/** What a disk is asked to do. */
export interface Operation {
  readonly name: keyof FileSystem | keyof OpenFile
  readonly file: string
}

/** How a disk behaves. */
export interface DiskBehaviour {
  /** Called before each operation, which waits for it and fails when it throws. */
  readonly before?: (operation: Operation) => void | Promise<void>
  /** Of so many bytes it writes only these. */
  readonly accept?: (length: number) => number
}

/** The disk of this machine, with something wrong. */
export function createDisk({ accept = length => length, before = () => undefined }: DiskBehaviour): FileSystem {
  const disk = nodeFileSystem
  const then = async <result>(name: Operation['name'], file: string, task: () => Promise<result>): Promise<result> => {
    await before({ name, file })
    return task()
  }
  const now = <result>(name: Operation['name'], file: string, task: () => result): result => {
    void before({ name, file })
    return task()
  }
  return {
    mkdir: (directory, options) => then('mkdir', directory, () => disk.mkdir(directory, options)),
    chmod: (file, mode) => then('chmod', file, () => disk.chmod(file, mode)),
    lstat: file => then('lstat', file, () => disk.lstat(file)),
    readdir: directory => then('readdir', directory, () => disk.readdir(directory)),
    rename: (from, to) => then('rename', from, () => disk.rename(from, to)),
    unlink: file => then('unlink', file, () => disk.unlink(file)),
    async open(file, flags, mode) {
      const opened = await then('open', file, () => disk.open(file, flags, mode))
      return {
        read: (...parameters) => then('read', file, () => opened.read(...parameters)),
        write: (bytes, offset, length) => then('write', file, () => opened.write(bytes, offset, accept(length))),
        stat: () => then('stat', file, () => opened.stat()),
        chmod: mode => then('chmod', file, () => opened.chmod(mode)),
        truncate: length => then('truncate', file, () => opened.truncate(length)),
        close: () => then('close', file, () => opened.close()),
      }
    },
    mkdirSync: (directory, options) => now('mkdirSync', directory, () => disk.mkdirSync(directory, options)),
    openSync: (file, flags, mode) => now('openSync', file, () => disk.openSync(file, flags, mode)),
    fchmodSync: (file, mode) => now('fchmodSync', `${file}`, () => disk.fchmodSync(file, mode)),
    writeSync: (file, bytes, offset, length) =>
      now('writeSync', `${file}`, () => disk.writeSync(file, bytes, offset, accept(length))),
    closeSync: file => now('closeSync', `${file}`, () => disk.closeSync(file)),
    watch: (directory, onChange) => now('watch', directory, () => disk.watch(directory, onChange)),
  }
}

/** The error of an operating system. */
export function createError(code: string): Error {
  return Object.assign(new Error(`${code}: it failed on purpose`), { code })
}
