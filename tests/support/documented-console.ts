import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createFrameworkBundle } from 'sinfonietta'
import { makerBundle } from 'sinfonietta/console'
import { createProfilerBundle } from 'sinfonietta/profiler'
import { siteBundle } from '#bundles/site/site-bundle.ts'
import { createStorage, type RecordInit } from './create-profile.ts'
import { type RunResult, runInTerminal } from './fake-terminal.ts'

/** Compiled, this file lies in dist/tests/support. */
const project = path.join(import.meta.dirname, '../../..')

const origin = 'http://localhost:8000'
const noon = Date.parse('2026-11-20T12:00Z')
const booth = { route: 'star_photo_booth', controller: 'star_photo_booth' }

/** Their clients may see debug output, and so may their replays. */
const request = { isDebugAllowed: true }

const records: readonly RecordInit[] = [
  { ...booth, token: '1a2b3c', time: noon, duration: 2.114, url: `${origin}/star-photo-booth`, data: { request } },
  {
    token: '77e0d1',
    time: noon + 4_000,
    duration: 1.32,
    route: 'partnership',
    controller: 'partnership',
    url: `${origin}/partnership`,
    data: { request },
  },
  {
    ...booth,
    token: '4d5e6f',
    time: noon + 9_000,
    duration: 21.37,
    status: 500,
    exception: 'TypeError',
    errors: 1,
    url: `${origin}/star-photo-booth?page=2`,
    data: {
      request: { ...request, query: [['page', '2']] },
      logger: { records: [] },
      time: { measured: [{ name: 'database', category: 'sql', duration: 18_250 }] },
    },
  },
]

/** What generators read; they write into a project of their own. */
const generated = ['.env', 'bundles/framework/assets', 'bundles/maker/skeletons', 'bundles/site']

/** Runs a command of the reference with records that are always the same; what would never end ends at once. */
export async function runDocumented(line: string): Promise<RunResult> {
  if (!line.startsWith('make:')) return run(line)
  const directory = mkdtempSync(path.join(tmpdir(), 'sinfonietta-'))
  for (const source of generated) {
    cpSync(path.join(project, source), path.join(directory, source), { recursive: true })
  }
  // The reference shows the list of a new project, also where an application has changed its own.
  cpSync(path.join(project, 'tests/fixtures/bundles-index.txt'), path.join(directory, 'bundles/index.ts'))
  try {
    return await run(line, directory)
  } finally {
    rmSync(directory, { recursive: true })
  }
}

async function run(line: string, directory: string = project): Promise<RunResult> {
  const storage = createStorage(...records)
  const folder = mkdtempSync(path.join(tmpdir(), 'documented-console-'))
  const profiler = createProfilerBundle({ storage, armFile: path.join(folder, 'armed.json') })
  try {
    return await runInTerminal(line, {
      load: async () => [createFrameworkBundle(), siteBundle, makerBundle, profiler],
      directory,
      signal: AbortSignal.abort(),
      env: { APP_ENV: 'dev', APP_HOSTS: 'booths.test' },
    })
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** An output without what any line or file more in the project changes. */
export function withoutPlaces(output: string): string {
  return output
    .replace(/(?<=\.ts:)\d+/g, '0')
    .replace(/^\d+(?= templates)/m, '0')
    .replace(/ +$/gm, '')
}
