import { readFileSync, statSync } from 'node:fs'
import { Socket } from 'node:net'
import { noteUnseen } from '../../kernel/contracts/unseen-libraries.ts'
import { observeMethod } from '../../lib/observe-calls.ts'
import { readSites } from '../../lib/stack/callers.ts'
import { locateFrame, toPath } from '../../lib/stack/stack-frames.ts'
import { type Library, missingWorkOf } from './library.ts'

/** Bytes of a file that may have a copy of a library. */
const leastSize = 10_000
const sizeLimit = 32 * 1024 * 1024
const fileLimit = 1000
/** Frames that are read of the stack of a connection. */
const frameLimit = 50

/** A property of the messages of mysql2, ioredis and redis, beside the code that sends commands: bundles keep it. */
const published = 'serverAddress'

/**
 * Notes the libraries that are seen only outside of bundles, when one of them opens a connection and a file of the
 * application on the stack has its text: a bundler, such as that of Next.js, has put a copy into it.
 */
export function noteBundledCopies(libraries: readonly Library[], directory: string): void {
  const copied = new Set(libraries.filter(({ bundledText }) => bundledText !== undefined))
  const searched = new Set<string>()
  const stop = observeMethod(Socket.prototype, 'connect', function findCopies() {
    for (const site of readSites(findCopies, frameLimit)) {
      const name = site.getFileName() ?? fileOfEval(site)
      if (searched.has(name) || searched.size === fileLimit) continue
      searched.add(name)
      const file = toPath(name)
      const { origin } = locateFrame({ file }, directory)
      if (origin === 'application' || (origin === 'vendor' && !file.includes('node_modules'))) search(file, copied)
    }
    if (copied.size === 0) stop()
  })
}

/** Webpack evaluates each module of a file by itself in development. */
function fileOfEval(site: NodeJS.CallSite): string {
  return /\(([^()]+):\d+:\d+\)\)*$/.exec(site.getEvalOrigin() ?? '')?.[1] ?? ''
}

function search(file: string, copied: Set<Library>): void {
  const { size = 0 } = statSync(file, { throwIfNoEntry: false }) ?? {}
  if (size < leastSize || size > sizeLimit) return
  const code = readFileSync(file)
  const isPublished = code.includes(published)
  for (const library of copied) {
    const { bundledText = '', name, seenBy } = library
    if (!code.includes(bundledText) || (seenBy === 'channel' && isPublished)) continue
    copied.delete(library)
    noteUnseen({ name, version: '', first: '', work: missingWorkOf(library) })
  }
}
