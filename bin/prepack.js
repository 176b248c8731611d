// Before `npm pack`: builds the package, and removes from dist/ what earlier sources have left there.
import { existsSync, readdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { build } from './build.js'

const root = path.join(import.meta.dirname, '..')

if (await build()) {
  for (const layer of ['bin', 'bundles', 'kernel', 'lib']) {
    for (const file of readdirSync(path.join(root, 'dist', layer), { recursive: true })) {
      const source = path.join(root, layer, file.replace(/(?:\.d\.ts|\.js|\.js\.map)$/, '.ts'))
      if (/\.(?:ts|js|map)$/.test(file) && !existsSync(source)) rmSync(path.join(root, 'dist', layer, file))
    }
  }
} else process.exitCode = 1
