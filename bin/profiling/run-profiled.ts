import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { isatty } from 'node:tty'
import { describeFailure } from '../application/describe-failure.ts'
import { findFolder } from './profile-folder.ts'
import { findCommandFile } from './running-commands.ts'

/**
 * The signals that are passed to the program, each with whether terminals send it. SIGUSR1 starts
 * the debugger, and nodemon sends SIGUSR2.
 */
const passedSignals = { SIGINT: true, SIGHUP: true, SIGQUIT: true, SIGTERM: false, SIGUSR1: false, SIGUSR2: false }

/** Runs a program of Node with the profiler, and ends as it ends: with its exit code, or by its signal. */
export function runProfiled(commandLine: readonly string[]): ChildProcess {
  const preload = new URL('../exports/profile.js', import.meta.url).href
  const child = spawn(process.execPath, ['--import', preload, ...commandLine], { stdio: 'inherit' })
  // A terminal sends some signals to both processes; a second one would end many programs at once.
  const isInTerminal = isatty(0)
  for (const [signal, isOfTerminal] of Object.entries(passedSignals)) {
    process.on(signal, () => void ((isOfTerminal && isInTerminal) || child.kill(signal as NodeJS.Signals)))
  }
  child.on('exit', async (code, signal) => {
    process.exitCode = code ?? 1
    if (signal === null) return
    await storeCommand(child.pid, signal)
    for (const each of Object.keys(passedSignals)) process.removeAllListeners(each)
    process.kill(process.pid, signal)
  })
  return child
}

/** Stores the profile that a program has written before a signal has ended it, if it is a command. */
async function storeCommand(pid: number | undefined, signal: string): Promise<void> {
  const directory = process.cwd()
  if (pid === undefined || !existsSync(findCommandFile(findFolder(directory), pid))) return
  try {
    const { storeEndedCommand } = await import('./profile.ts')
    await storeEndedCommand(directory, pid, signal)
  } catch (error) {
    process.stderr.write(`The profile of the program cannot be stored: ${describeFailure(error)}\n`)
  }
}
