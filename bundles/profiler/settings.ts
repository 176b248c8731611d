import { type BundleSettings, defineSettings, type Settings } from '../../lib/env/settings.ts'
import { nameProgram } from '../../lib/find-package.ts'
import {
  asFlag,
  asIntegerFrom,
  asListOf,
  asMilliseconds,
  asOneOf,
  asRatio,
  asRedisUrl,
  type Conversion,
} from '../../lib/text/conversion.ts'

/**
 * The settings of servers that do not record all requests. A request is recorded if it is drawn,
 * and kept if it has an error or is slow.
 */
export interface SamplingOptions {
  /** The share of requests that are recorded, from 0 to 1. */
  readonly sample?: number
  /** Whether requests without an error are dropped, unless they are slow. */
  readonly onlyErrors?: boolean
  /** Milliseconds: faster requests are dropped, unless they have an error that counts. */
  readonly slowerThan?: number | undefined
}

/** The values of the profiler's settings. */
interface ProfilerSettings {
  /** The pattern of links that open a file in an editor, with `{file}`, `{line}` and `{column}`. */
  readonly EDITOR_URL: string | undefined
  /** The folders that have another path for the editor than for the process. */
  readonly EDITOR_PATHS: readonly PathMapping[]
  /** `keep`: mails are recorded, and not sent. */
  readonly PROFILER_MAILS: 'send' | 'keep'
  readonly PROFILER_MCP: boolean
  readonly PROFILER_MCP_REPLAY: boolean
  /** The name of the program in its profiles. */
  readonly PROFILER_NAME: string | undefined
  /** Whether pages with a toolbar are loaded again after a save. */
  readonly PROFILER_RELOAD: boolean
  /** The Redis that has the profiles of several machines. */
  readonly PROFILER_URL: string | undefined
  /** The share of requests that are recorded. */
  readonly PROFILER_SAMPLE: number
  readonly PROFILER_ONLY_ERRORS: boolean
  /** Milliseconds. */
  readonly PROFILER_SLOWER_THAN: number | undefined
}

/** The path of a folder for the process, and for the editor. */
export interface PathMapping {
  readonly from: string
  readonly to: string
}

/** An editor, and the pattern of the links that its installation registers. */
interface KnownEditor {
  /** Its value of `EDITOR_URL`. */
  readonly name: string
  readonly label: string
  readonly pattern: string
}

/** The editors that a page offers. */
export const knownEditors: readonly KnownEditor[] = [
  { name: 'vscode', label: 'VS Code', pattern: 'vscode://file{file}:{line}:{column}' },
  { name: 'cursor', label: 'Cursor', pattern: 'cursor://file{file}:{line}:{column}' },
  { name: 'windsurf', label: 'Windsurf', pattern: 'windsurf://file{file}:{line}:{column}' },
  { name: 'zed', label: 'Zed', pattern: 'zed://file{file}:{line}:{column}' },
  { name: 'webstorm', label: 'WebStorm', pattern: 'webstorm://open?file={file}&line={line}&column={column}' },
  { name: 'idea', label: 'IntelliJ IDEA', pattern: 'idea://open?file={file}&line={line}&column={column}' },
  { name: 'phpstorm', label: 'PhpStorm', pattern: 'phpstorm://open?file={file}&line={line}&column={column}' },
  { name: 'sublime', label: 'Sublime Text', pattern: 'subl://open?url=file://{file}&line={line}&column={column}' },
  { name: 'vim', label: 'Vim', pattern: 'mvim://open?url=file://{file}&line={line}&column={column}' },
]

/** Other names of editors. */
const otherNames: Readonly<Record<string, string>> = { jetbrains: 'idea', mvim: 'vim' }

const presets: ReadonlyMap<string, string> = new Map(knownEditors.map(({ name, pattern }) => [name, pattern]))

/** The schemes of links that could run code. */
const harmfulSchemes: readonly string[] = ['javascript', 'data', 'vbscript', 'blob', 'filesystem']

/** The name of an editor, or a pattern of links with a harmless scheme. */
const asEditorUrl: Conversion<string> = {
  expected: `${[...presets.keys()].join(', ')} or a link such as editor://open?file={file}&line={line}`,
  convert(text) {
    const name = text.toLowerCase()
    const pattern = presets.get(otherNames[name] ?? name) ?? text
    const scheme = /^([a-z][a-z\d+.-]*):/i.exec(pattern)?.[1]?.toLowerCase()
    const isHarmless = scheme !== undefined && !harmfulSchemes.includes(scheme)
    return isHarmless && pattern.includes('{file}') && !/\s/.test(pattern) ? pattern : undefined
  },
}

/** A mapping such as `/srv/app=/home/me/app`. */
const asPathMapping: Conversion<PathMapping> = {
  expected: 'a pair of folders such as /srv/app=/home/me/app',
  convert(text) {
    const [, from, to] = /^((?:\/|[a-z]:|\\\\)[^=]*[^=/])\/*=([^=]*[^=/])\/*$/i.exec(text) ?? []
    return from === undefined || to === undefined ? undefined : { from, to }
  },
}

/**
 * The settings of the profiler. This file loads no other file of the profiler: without debug, only
 * the names are needed.
 */
export const profilerSettings: BundleSettings<ProfilerSettings> = defineSettings({
  /** Without the setting, the server or the browser opens files: see docs/guides/profiler.md#when-something-fails. */
  EDITOR_URL: {
    help: 'opens files from error pages and profiles: an editor such as vscode, or a link with {file}, {line}, {column}',
    schema: asEditorUrl,
    default: undefined,
  },
  EDITOR_PATHS: {
    help: 'paths of the server and of the editor, if they differ: /srv/app=/home/me/app',
    schema: asListOf(asPathMapping),
    default: [],
  },
  /** See docs/guides/background-work.md#mails. */
  PROFILER_MAILS: {
    help: 'keep: mails are recorded and not sent, in development; their senders get a success',
    schema: asOneOf('send', 'keep'),
    default: 'send',
  },
  /** See docs/guides/coding-agents.md. */
  PROFILER_MCP: {
    help: 'answers coding agents (MCP) at /_profiler/mcp',
    schema: asFlag,
    default: false,
  },
  PROFILER_MCP_REPLAY: {
    help: 'allows agents to replay GET, HEAD, OPTIONS and QUERY there, without cookies and credentials',
    schema: asFlag,
    default: false,
  },
  PROFILER_NAME: {
    help: 'the name of the program in its profiles; by default the name in its package.json',
    default: undefined,
  },
  /** See docs/guides/profiler.md#the-toolbar. */
  PROFILER_RELOAD: {
    help: 'loads pages with a toolbar again after a save in development; 0 leaves them as they are',
    schema: asFlag,
    default: true,
  },
  /** It may have `user:password@` before the host, and needs the package ioredis. */
  PROFILER_URL: {
    help: 'stores the profiles of several machines in Redis: redis://host:6379, or rediss:// for TLS',
    schema: asRedisUrl,
    default: undefined,
    secret: true,
  },
  PROFILER_SAMPLE: {
    help: 'the share of requests that are recorded, from 0 to 1',
    schema: asRatio,
    default: 1,
  },
  /** An error is a status of 500 and above, or a stream that failed. */
  PROFILER_ONLY_ERRORS: {
    help: 'keeps only profiles of requests with an error of the server, and of slow ones with PROFILER_SLOWER_THAN',
    schema: asFlag,
    default: false,
  },
  /** With both settings, a profile needs one of the two. */
  PROFILER_SLOWER_THAN: {
    help: 'keeps only profiles of requests that take more milliseconds, and of errors with PROFILER_ONLY_ERRORS',
    schema: asMilliseconds,
    default: undefined,
  },
})

/** The settings of `sinfonietta profile`, beside those of the profiler. */
interface ProgramSettings {
  readonly PROFILER_PORT: number | undefined
  readonly PROFILER_ALONE: boolean
  readonly PROFILER_SAME_PORT: boolean
  readonly PROFILER_TOOLBAR: boolean
  readonly PROFILER_IN_PRODUCTION: boolean
}

/** See {@link ProgramSettings}. */
export const programSettings: BundleSettings<ProgramSettings> = defineSettings({
  PROFILER_PORT: {
    help: 'the port of their pages; by default 8100, or a free one',
    schema: asIntegerFrom(0, 65_535),
    default: undefined,
  },
  PROFILER_ALONE: { help: '1 keeps the program out of the list of programs', schema: asFlag, default: false },
  PROFILER_SAME_PORT: {
    help: '1 shows the pages also at /_profiler/ of the program itself',
    schema: asFlag,
    default: false,
  },
  PROFILER_TOOLBAR: {
    help: '1 adds the toolbar to HTML pages of the program, with PROFILER_SAME_PORT',
    schema: asFlag,
    default: false,
  },
  PROFILER_IN_PRODUCTION: {
    help: '1 makes profiles also if NODE_ENV is production',
    schema: asFlag,
    default: false,
  },
})

/** Reads the name of the program in a directory: by default that of its package. */
export function readProgram(settings: Settings, directory: string): string {
  return settings.of(profilerSettings).PROFILER_NAME ?? nameProgram(directory)
}

/** Reads which requests are recorded. */
export function readSampling(settings: Settings): SamplingOptions {
  const {
    PROFILER_ONLY_ERRORS: onlyErrors,
    PROFILER_SAMPLE: sample,
    PROFILER_SLOWER_THAN: slowerThan,
  } = settings.of(profilerSettings)
  return { sample, onlyErrors, slowerThan }
}
