import { execFileSync } from 'node:child_process'
import { parseArgs } from 'node:util'
import { restartRepeatedly } from './restarts.ts'
import { soak } from './soak.ts'

// A program: soaks the site in production and in development, both at once, and says whether it has stayed
// what it was; or, with --restarts, restarts it so often under load, and says whether a request was lost.

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '10' },
    sockets: { type: 'string', default: '5000' },
    restarts: { type: 'string' },
  },
})

const seconds = Number(values.minutes) * 60
/** This process has them all, and some more. */
const descriptors = Number(execFileSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' })) || Number.POSITIVE_INFINITY
const most = Math.min(Number(values.sockets), Math.floor(descriptors / 2))
const print = (line: string) => process.stdout.write(`${line}\n`)

const complaints =
  values.restarts === undefined
    ? await soakBoth()
    : await restartRepeatedly({ restarts: Number(values.restarts), print })
for (const complaint of complaints) print(complaint)
const isPassed = complaints.length === 0
print(isPassed ? 'The soak is passed.' : 'The soak is not passed.')
process.exit(isPassed ? 0 : 1)

async function soakBoth(): Promise<string[]> {
  const complaints = await Promise.all([
    soak({ environment: 'prod', seconds, slowSockets: most, print }),
    soak({ environment: 'dev', seconds, slowSockets: Math.floor(most / 10), print }),
  ])
  return complaints.flat()
}
