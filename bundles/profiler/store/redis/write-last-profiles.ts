// A program of its own: it writes the profiles of a process that has crashed, which are its input.
import { text } from 'node:stream/consumers'
import { RedisProfileStorage } from './redis-profile-storage.ts'
import type { LastProfiles } from './write-in-other-process.ts'

// Written by `writeInOtherProcess`.
const { limits, prefix, profiles, url } = JSON.parse(await text(process.stdin)) as LastProfiles
const onProblem = (message: string, error?: unknown) => {
  process.stderr.write(`${message} ${error}\n`)
  process.exitCode = 1
}
const storage = new RedisProfileStorage({ url, prefix, limits, onProblem, onRecovery: onProblem })
for (const { facts, summary, text } of profiles) storage.append({ summary, text }, facts)
await storage.close()
