import net from 'node:net'
import { constants } from 'node:os'
import path from 'node:path'
import { formatCount } from '../../bundles/profiler/profile/format.ts'
import { beginUnit, type StoredText } from '../../kernel/contracts/units.ts'
import { guard } from '../../lib/guard.ts'
import { observeMethod } from '../../lib/observe-calls.ts'
import { readClock, startTimer, stopTimer } from '../../lib/own-globals.ts'
import { findCommandFile, removeCommand, writeCommand } from './running-commands.ts'

/**
 * Records the run of this process as a command, if it turns out to be neither a server nor the consumer of a queue.
 * `isAllowed` is asked at its end: the program may have set variables. `files` is the folder of the program.
 */
export function recordCommand(directory: string, files: string, isAllowed: () => boolean): void {
  const [, program, ...values] = process.argv
  if (program === undefined) return
  const unit = beginUnit({ type: 'command', name: path.relative(directory, program), arguments: values })
  if (unit === undefined) return
  const stops = [
    observeMethod(net.Server.prototype, 'listen', () => void unit.drop()),
    // A listener of signals would keep a busy program from being ended by them. These calls end it at once.
    observeMethod(process, 'kill', (_, [pid, signal = 'SIGTERM']) => {
      const name = nameSignal(signal)
      if ((pid === process.pid || pid === 0) && endsProcess(name)) storeSoFar(name)
    }),
    observeMethod(process, 'abort', () => void storeSoFar('SIGABRT')),
  ]
  const file = findCommandFile(files)
  const storeSoFar = (signal: string) => {
    if (!isAllowed()) return
    unit.storeSoFar({ signal, open: listOpen() })
    removeCommand(file)
  }
  const stopWriting = keepWriting(file, () => (isAllowed() ? unit.describeSoFar({ open: listOpen() }) : undefined))
  unit.enterProcess(() => {
    for (const stop of stops) stop()
    stopWriting()
  })
  // Before the listener that stores what has not ended.
  process.prependListener('exit', code => {
    const exitCode = code === 0 && isUnsettled() ? unsettledCode : code
    if (isAllowed()) unit.end({ exitCode, open: listOpen() })
    else unit.drop()
  })
}

/** Signals that do not end a process, or start the debugger of Node. */
const harmless: ReadonlySet<string> = new Set([
  ...['', 'SIGUSR1', 'SIGCHLD', 'SIGCONT', 'SIGPIPE', 'SIGPROF', 'SIGURG', 'SIGWINCH'],
  ...['SIGSTOP', 'SIGTSTP', 'SIGTTIN', 'SIGTTOU'],
])

/** Empty if there is no such signal. */
function nameSignal(signal: unknown): string {
  const [name = ''] =
    Object.entries(constants.signals).find(pair => pair.includes(String(signal)) || pair.includes(Number(signal))) ?? []
  return name
}

function endsProcess(signal: string): boolean {
  return !harmless.has(signal) && (signal === 'SIGKILL' || process.listenerCount(signal) === 0)
}

/** Milliseconds between two times at which the profile of a command is written. */
const pauses = { least: 250, most: 1000 } as const

/** The pause after the profile was written, by the time that this took, 2 to 10 ms. */
const pauseFactor = 50

/** Writes the profile of a command again and again. The returned function ends this, and removes the file. */
function keepWriting(file: string, describe: () => StoredText | undefined): () => void {
  let timer: NodeJS.Timeout | undefined
  const wait = (time: number) => {
    // The timer is unref'd: it does not keep the process alive.
    timer = startTimer(write, time).unref()
  }
  const write = guard('a command that goes on', () => {
    const start = readClock()
    const stored = describe()
    if (stored === undefined) return
    writeCommand(file, stored)
    wait(Math.min(pauses.most, Math.max(pauses.least, pauseFactor * (readClock() - start))))
  })
  wait(pauses.least)
  return () => {
    stopTimer(timer)
    removeCommand(file)
  }
}

/** The exit code of a program whose top-level `await` never ends. */
const unsettledCode = 13

/**
 * Whether Node is about to set this exit code: the listener that does so is there as long as the
 * program is being loaded.
 */
function isUnsettled(): boolean {
  return process.listeners('exit').some(({ name }) => name === 'handleProcessExit')
}

/**
 * What keeps a process alive, by the names that Node gives it. Its own streams, and files that are
 * being written, are left out.
 */
const nouns: Readonly<Record<string, readonly [one: string, many?: string]>> = {
  Timeout: ['timer'],
  TCPSocketWrap: ['connection'],
  TCPServerWrap: ['server'],
  ProcessWrap: ['child process', 'child processes'],
}

function listOpen(): string[] {
  const resources = process.getActiveResourcesInfo()
  return Object.entries(nouns).flatMap(([name, noun]) => {
    const count = resources.filter(resource => resource === name).length
    return count === 0 ? [] : formatCount(count, ...noun)
  })
}
