import { type ChildProcess, spawn } from 'node:child_process'
import { isatty } from 'node:tty'

/** The signals that are passed to the program, each with whether terminals send it. SIGUSR1 starts the debugger, and nodemon sends SIGUSR2. */
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
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 1
    if (signal === null) return
    for (const each of Object.keys(passedSignals)) process.removeAllListeners(each)
    process.kill(process.pid, signal)
  })
  return child
}
