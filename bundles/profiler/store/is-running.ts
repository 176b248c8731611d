import { codeOf } from './code-of.ts'

/** Whether a process of this id runs on this machine, whosever it is. */
export function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    // Somebody else's process may not be sent a signal, and runs nevertheless.
    return codeOf(error) !== 'ESRCH'
  }
}
