import net from 'node:net'
import path from 'node:path'
import { formatCount } from '../../bundles/profiler/profile/format.ts'
import { beginUnit } from '../../kernel/contracts/units.ts'
import { observeMethod } from '../../lib/observe-calls.ts'

/**
 * Records the run of this process as a command, if it turns out to be neither a server nor the consumer of a queue. `isAllowed` is asked at its end:
 * the program may have set variables.
 */
export function recordCommand(directory: string, isAllowed: () => boolean): void {
  const [, program, ...values] = process.argv
  if (program === undefined) return
  const unit = beginUnit({ type: 'command', name: path.relative(directory, program), arguments: values })
  if (unit === undefined) return
  unit.enterProcess()
  const stop = observeMethod(net.Server.prototype, 'listen', () => {
    unit.drop()
    stop()
    return undefined
  })
  // Before the listener that stores what has not ended.
  process.prependListener('exit', code => {
    stop()
    const exitCode = code === 0 && isUnsettled() ? unsettledCode : code
    if (isAllowed()) unit.end({ exitCode, open: listOpen(process.getActiveResourcesInfo()) })
    else unit.drop()
  })
}

/** The exit code of a program whose top-level `await` never ends. */
const unsettledCode = 13

/** Whether Node is about to set this exit code: the listener that does so is there as long as the program is being loaded. */
function isUnsettled(): boolean {
  return process.listeners('exit').some(({ name }) => name === 'handleProcessExit')
}

/** What keeps a process alive, by the names that Node gives it. Its own streams, and files that are being written, are left out. */
const nouns: Readonly<Record<string, readonly [one: string, many?: string]>> = {
  Timeout: ['timer'],
  TCPSocketWrap: ['connection'],
  TCPServerWrap: ['server'],
  ProcessWrap: ['child process', 'child processes'],
}

function listOpen(resources: readonly string[]): string[] {
  return Object.entries(nouns).flatMap(([name, noun]) => {
    const count = resources.filter(resource => resource === name).length
    return count === 0 ? [] : formatCount(count, ...noun)
  })
}
