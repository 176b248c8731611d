/** Microseconds of CPU time that this process has used. */
export function measureCpu() {
  const { user, system } = process.cpuUsage()
  return user + system
}
