import { execFileSync } from 'node:child_process'

/** The processes that a process has started. */
export function childrenOf(pid: number | undefined): number[] {
  const lines = execFileSync('ps', ['-e', '-o', 'pid=,ppid='], { encoding: 'utf8' }).trim().split('\n')
  const pairs = lines.map(line => line.trim().split(/\s+/).map(Number))
  return pairs.filter(([, parent]) => parent === pid).map(([child = 0]) => child)
}
