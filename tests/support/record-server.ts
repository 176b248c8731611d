import { once } from 'node:events'
import type { Server } from 'node:http'
import type { Http2Server } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { silentLogger } from 'sinfonietta/testing'
import type { Test } from 'tap'
import type { Profile } from '#bundles/profiler/profile/profile.ts'
import { ServerRecorder } from '#bundles/profiler/server-recorder.ts'
import { MemoryProfileStorage } from '#bundles/profiler/store/memory-profile-storage.ts'
import { readConfig } from '#lib/env/config.ts'
import { Settings } from '#lib/env/settings.ts'
import { Redactor } from '#lib/redact/redactor.ts'
import { waitForProfile } from '#tests/support/profiled-kernel.ts'
import { until } from '#tests/support/until.ts'

/** Creates a recorder with a storage in memory. */
export function createRecorder(t: Test, variables: Readonly<Record<string, string>> = {}) {
  const settings = new Settings({ variables: { APP_ENV: 'dev', APP_SECRET: 'a'.repeat(32), ...variables } })
  const storage = new MemoryProfileStorage()
  const directory = t.testdir({})
  const recorder = new ServerRecorder({
    settings,
    config: readConfig(settings),
    directory,
    logger: silentLogger,
    redactor: new Redactor({}),
    storage,
    armFile: `${directory}/armed.json`,
    replaySecret: 'secret',
  })
  return { recorder, storage }
}

/** Records a server, and returns its port and the wait for the profile of a path. */
export async function recordServer(t: Test, server: Server | Http2Server) {
  const { recorder, storage } = createRecorder(t)
  const tokens = new Map<string, string>()
  recorder.signals.on('profile.saved', ({ token, url }) => void tokens.set(new URL(url).pathname, token))
  recorder.start({ viewer: 'http://127.0.0.1:8100', onFirst: () => true })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  t.teardown(async () => {
    server.close()
    await recorder.close()
  })
  const profileOf = async (path: string, isDone: (profile: Profile) => boolean = () => true): Promise<Profile> => {
    await until(() => tokens.has(path))
    return waitForProfile(storage, String(tokens.get(path)), isDone)
  }
  return { port: (server.address() as AddressInfo).port, profileOf }
}
