import { type FileSystem, nodeFileSystem } from '#bundles/profiler/store/file-system.ts'

/** A call of a disk function: its name, and the path of the file. */
export interface Operation {
  readonly name: string
  readonly file: string
}

/** The faults of a disk. */
export interface DiskBehaviour {
  /** Called before each operation, which waits for its result and fails if it throws. */
  readonly before?: (operation: Operation) => void | Promise<void>
  /** Returns the number of bytes that are written. */
  readonly accept?: (length: number) => number
}

/** The disk of this machine, with a fault. */
export function createDisk({ accept = length => length, before = () => undefined }: DiskBehaviour): FileSystem {
  const wrap = <target extends object>(target: target, path?: string): target =>
    new Proxy(target, {
      get(_, name) {
        const method: unknown = Reflect.get(target, name)
        if (typeof method !== 'function') return method
        return (...parameters: unknown[]) => {
          const operation = { name: String(name), file: path ?? String(parameters[0]) }
          if (name === 'write') parameters[2] = accept(Number(parameters[2]))
          const task = (): unknown => Reflect.apply(method, target, parameters)
          if (!operation.name.endsWith('Sync')) return run(operation, task)
          void before(operation)
          return task()
        }
      },
    })
  const run = async (operation: Operation, task: () => unknown): Promise<unknown> => {
    await before(operation)
    const result = await task()
    return operation.name === 'open' ? wrap(Object(result), operation.file) : result
  }
  return wrap(nodeFileSystem)
}

/** The error of an operating system. */
export function createError(code: string): Error {
  return Object.assign(new Error(`${code}: it failed on purpose`), { code })
}
