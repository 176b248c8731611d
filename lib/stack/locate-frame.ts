import path from 'node:path'
import type { StackFrame } from './parse-stack.ts'

/** Where a call stands, as whoever works on the project sees it. */
export interface FrameLocation {
  /** Relative to the project's root when it lies below it; absent for functions built into the engine. */
  readonly file?: string
  /** `kernel` is the project's `kernel/` and `lib/`; `vendor` is also whatever lies outside of the project. */
  readonly origin: 'application' | 'kernel' | 'vendor' | 'runtime'
}

const kernelFolders: readonly string[] = ['kernel', 'lib'].map(folder => folder + path.sep)

/** Compiled code lies there as its source lies in the project; without source maps it is all there is. */
const compiled = `dist${path.sep}`

/** Says where a frame stands, seen from the project's root. */
export function locateFrame(
  { file, origin }: Pick<StackFrame, 'origin'> & { readonly file?: string | undefined },
  directory: string,
): FrameLocation {
  if (file === undefined) return { origin }
  if (!file.startsWith(directory + path.sep)) return { file, origin: origin === 'runtime' ? origin : 'vendor' }
  const inside = file.slice(directory.length + 1)
  const source = inside.startsWith(compiled) ? inside.slice(compiled.length) : inside
  if (origin === 'vendor') return { file: source, origin }
  return { file: source, origin: kernelFolders.some(folder => source.startsWith(folder)) ? 'kernel' : 'application' }
}
