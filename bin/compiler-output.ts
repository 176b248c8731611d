import path from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import type { SourceProblem } from '../kernel/bundle.ts'

const limit = 50

/** Reads the mistakes from the output of the TypeScript compiler, plain or with colours. Files are absolute. */
export function parseCompilerOutput(output: string, directory: string): SourceProblem[] {
  // `a.ts(3,7): error TS2304: Cannot find name 'x'.`, or with colours `a.ts:3:7 - error TS2304: …`.
  const pattern = /^(?:(.+?)[(:](\d+)[,:](\d+)\)?(?::| -) )?error TS\d+: (.*(?:\n +\S.*)*)/gm
  return [...stripVTControlCharacters(output).matchAll(pattern)].slice(0, limit).map(found => {
    const [, file, line, column, text = ''] = found
    const message = text.trim()
    if (file === undefined) return { message }
    return { message, file: path.resolve(directory, file), line: Number(line), column: Number(column) }
  })
}
