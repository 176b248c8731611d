/**
 * Rules that may find something only because the machine is busy: they compare times. Tests of real
 * requests leave their findings out; the tests of the rules themselves have profiles with given times.
 */
export const rulesOfMachine: readonly string[] = [
  'blocked-loop',
  'synchronous-call',
  'unlimited-call',
  'slow-listener',
  'slow-query',
]
