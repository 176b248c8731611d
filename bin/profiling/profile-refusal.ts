export const refusal =
  'Nothing is profiled: NODE_ENV is production. PROFILER_IN_PRODUCTION=1 allows it, and stores what requests contain.'

/** Whether the requests of a process must not be recorded. */
export function isRefused({ NODE_ENV, PROFILER_IN_PRODUCTION }: NodeJS.ProcessEnv): boolean {
  return NODE_ENV === 'production' && PROFILER_IN_PRODUCTION !== '1'
}
