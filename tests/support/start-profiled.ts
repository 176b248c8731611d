import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Test } from 'tap'
import { fewOptimizations, startProcess } from '#tests/support/start-process.ts'
import { until } from '#tests/support/until.ts'

const preload = path.join(import.meta.dirname, '../../bin/exports/profile.js')

/** The environment of the tests, without what they, or a profiler, set for themselves. */
const { NODE_ENV: _, PROFILER_VIEWER: __, PROFILER_REPLAY_SECRET: ___, ...environment } = process.env

/** The parts of a profile that tests read. */
export interface ProfileData {
  readonly summary: Readonly<Record<string, unknown>> & {
    readonly token: string
    readonly url: string
    readonly outcome: string
  }
  readonly data: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

/** The output of a process, so far. */
export interface Output {
  stdout: string
  stderr: string
}

/** The folder of a test, as a project that depends on some packages. */
export function createDependent(t: Test, ...packages: readonly string[]): string {
  const dependencies = Object.fromEntries(packages.map(name => [name, '*']))
  return t.testdir({ node_modules: {}, 'package.json': JSON.stringify({ dependencies }) })
}

/**
 * Starts an application of another framework under the profiler, by default in the folder of the
 * test. It prints the ports of its servers as a line of JSON, and ends with its input.
 */
export async function startProfiled(
  t: Test,
  source: string,
  env: Readonly<Record<string, string>> = {},
  cwd: string = t.testdir({ node_modules: {} }),
) {
  writeFileSync(path.join(cwd, 'app.mjs'), source)
  const child = startProcess(t, [process.execPath, ...fewOptimizations, '--import', preload, 'app.mjs'], {
    cwd,
    stdio: ['pipe', 'pipe', 'pipe'],
    env: { ...environment, PROFILER_PORT: '0', ...env },
  })
  const output: Output = { stdout: '', stderr: '' }
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', text => {
      output[name] += text
    })
  }
  const address = /^Profiler: (http:\S+)\/_profiler\/\n/m
  const isReady = () => output.stdout.includes('\n') && address.test(output.stderr)
  await until(isReady, 5, () => `the program is not ready (${child.exitCode}): ${output.stdout}${output.stderr}`)
  const [, viewer = ''] = address.exec(output.stderr) ?? []
  const ports: readonly number[] = JSON.parse(output.stdout.split('\n')[0] ?? '')
  /** Ends it, and waits until it has written its profiles and its coverage. */
  const stop = async () => {
    child.stdin?.end()
    await once(child, 'exit')
  }
  return { child, cwd, output, ports, stop, viewer, url: `http://127.0.0.1:${ports[0]}` }
}

/** Lists the profiles that a viewer has, the newest first. */
export async function listProfiles(viewer: string, limit = 100): Promise<readonly ProfileData['summary'][]> {
  const response = await fetch(`${viewer}/_profiler/search.json?limit=${limit}`)
  return ((await response.json()) as { readonly records: readonly ProfileData[] }).records.map(({ summary }) => summary)
}

export async function readProfile(viewer: string, token: string): Promise<ProfileData> {
  return (await (await fetch(`${viewer}/_profiler/${token}.json`)).json()) as ProfileData
}

/** Waits for the newest profile of a request whose URL has this end, and reads it. */
export async function findProfile(viewer: string, url: string, outcome = 'complete'): Promise<ProfileData> {
  let found: ProfileData['summary'] | undefined
  await until(async () => {
    found = (await listProfiles(viewer)).find(each => each.url.endsWith(url) && each.outcome === outcome)
    return found !== undefined
  }, 20)
  return readProfile(viewer, String(found?.token))
}
