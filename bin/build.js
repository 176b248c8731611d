import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import path from 'node:path'

const compiler = path.join(import.meta.dirname, '../node_modules/typescript/bin/tsc')

/** Compiles what is stale into dist/ and prints what the compiler says. Without a compiler, the dist/ that is there will do. */
export async function build() {
  if (!existsSync(compiler)) return true
  const child = spawn(process.execPath, [compiler, '-b'], {
    stdio: 'inherit',
    cwd: path.join(import.meta.dirname, '..'),
  })
  return new Promise(resolve => child.on('close', code => resolve(code === 0)))
}
