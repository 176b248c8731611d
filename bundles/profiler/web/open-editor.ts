import { execFile, spawn } from 'node:child_process'
import { realpathSync, statSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import { isLocal } from '../../../kernel/debug/debug-gate.ts'
import type { Request } from '../../../lib/http/request.ts'
import { Response } from '../../../lib/http/response.ts'
import { startTimer, stopTimer } from '../../../lib/own-globals.ts'
import { packageDirectory } from '../../../lib/package.ts'
import { resolveLocated, showPath } from '../../../lib/stack/stack-frames.ts'
import type { FilePlace } from '../panels/editor-links.ts'
import { type ProfilerApplication, protect } from './page.ts'

/**
 * Opens a place in the editor: the field `at` of the form is a file, and optionally its line and column.
 * For a client on this machine, `launch` opens the editor of this machine. If that fails, or if the
 * field `editor` names an editor, the answer has links that open the place on the machine of the client.
 */
export async function openEditor(
  request: Request,
  { directory, editor, programs }: Pick<ProfilerApplication, 'directory' | 'editor' | 'programs'>,
  launch: (place: FilePlace) => Promise<boolean> = launchEditor,
): Promise<Response> {
  const form = await request.formData()
  const [at, wanted] = ['at', 'editor'].map(name => form.get(name))
  const directories = [directory, ...programs.list().map(program => program.directory)]
  const place = typeof at === 'string' ? findPlace(at, directories) : undefined
  if (place === undefined) return answer({ reason: 'This is no file of the application.', editors: [] }, 404)
  const editors = editor.editorsOf(place)
  const chosen = editors.find(({ name }) => name === wanted)
  if (chosen !== undefined) return answer({ link: chosen.link })
  if (!isLocal(request)) return answer({ reason: 'The server is on another machine.', editors })
  if (await launch(place)) return answer({ isOpened: true })
  return answer({ reason: 'The server found no running editor.', editors })
}

function answer(data: object, status = 200): Response {
  return protect(Response.json(data, { status, headers: { 'cache-control': 'no-store' } }))
}

/**
 * Finds the file of a place such as `bundles/shop/shop-bundle.ts:12:5`, in the first of the
 * directories; `undefined` if it may not be opened. Places of other programs have the whole path.
 */
function findPlace(text: string, directories: readonly string[]): FilePlace | undefined {
  const [, file = '', line = '1', column = '1'] = /^([^:\0]+)(?::(\d{1,7}))?(?::(\d{1,7}))?$/.exec(text) ?? []
  if (file === '') return undefined
  const wanted = resolveLocated(file, directories[0] ?? '')
  return directories.some(directory => mayBeOpened(wanted, directory))
    ? { file: wanted, line: Number(line), column: Number(column) }
    : undefined
}

/**
 * Whether a path is that of a regular file of the application, of one of its packages, or of this package. A symbolic
 * link may lead nowhere else; only the folder of a package in `node_modules` may itself be a link, as npm makes it.
 */
function mayBeOpened(file: string, directory: string): boolean {
  try {
    const real = realpathSync(file)
    return (
      statSync(real).isFile() && listRoots(file, directory).some(root => showPath(real, realpathSync(root)) !== real)
    )
  } catch {
    // There is no such file.
    return false
  }
}

function listRoots(file: string, directory: string): string[] {
  const [, folder] = /^node_modules[\\/]((?:@[^\\/]+[\\/])?[^\\/]+)[\\/]/.exec(showPath(file, directory)) ?? []
  return [directory, packageDirectory, ...(folder === undefined ? [] : [path.join(directory, 'node_modules', folder)])]
}

/** A program that opens a file at a place. */
interface Editor {
  /** The names of its processes: of the program, or of a part of its path. */
  readonly processes: readonly string[]
  readonly toArguments: (place: FilePlace) => readonly string[]
}

const goTo: Editor['toArguments'] = ({ column, file, line }) => ['-r', '-g', `${file}:${line}:${column}`]
const plain: Editor['toArguments'] = ({ column, file, line }) => [`${file}:${line}:${column}`]
const named: Editor['toArguments'] = ({ column, file, line }) => ['--line', `${line}`, '--column', `${column}`, file]

/**
 * Editors with a window of their own, by their commands. An editor in the terminal would take the
 * terminal of the server.
 */
const editors: ReadonlyMap<string, Editor> = new Map(
  Object.entries({
    cursor: { processes: ['cursor', 'Cursor.app'], toArguments: goTo },
    windsurf: { processes: ['windsurf', 'Windsurf.app'], toArguments: goTo },
    codium: { processes: ['codium', 'VSCodium.app'], toArguments: goTo },
    'code-insiders': { processes: ['code-insiders', 'Visual Studio Code - Insiders.app'], toArguments: goTo },
    code: { processes: ['code', 'Visual Studio Code.app'], toArguments: goTo },
    zed: { processes: ['zed', 'zed-editor', 'Zed.app'], toArguments: plain },
    subl: { processes: ['sublime_text', 'Sublime Text.app'], toArguments: plain },
    webstorm: { processes: ['webstorm', 'WebStorm.app'], toArguments: named },
    phpstorm: { processes: ['phpstorm', 'PhpStorm.app'], toArguments: named },
    idea: { processes: ['idea', 'IntelliJ IDEA.app'], toArguments: named },
  }),
)

/** The parts of the system that decide which editor is launched. */
interface LauncherSystem {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly platform: string
  /** The programs that run: one a line. */
  readonly listProcesses: () => Promise<string>
}

const thisSystem: LauncherSystem = {
  env: process.env,
  platform: process.platform,
  listProcesses: async () => (await promisify(execFile)('ps', ['-xo', 'comm='], { timeout: 2000 })).stdout,
}

/** Milliseconds in which an editor that cannot start ends. */
const startTime = 1500

/**
 * Opens a place in the editor of this machine: that of `LAUNCH_EDITOR`, of `VISUAL` or of
 * `EDITOR`, or else the first known editor that runs. Gives `false` if there is none, and if it
 * does not start. No shell is used, so nothing of the path is interpreted. On Windows the commands
 * of most editors are scripts, which need a shell: there the answer is `false`.
 */
export async function launchEditor(place: FilePlace, given: Partial<LauncherSystem> = {}): Promise<boolean> {
  const system = { ...thisSystem, ...given }
  if (system.platform === 'win32') return false
  const found = findConfigured(system.env) ?? (await findRunning(system))
  return found !== undefined && start(found.command, found.editor.toArguments(place), system.env)
}

function findConfigured({ EDITOR, LAUNCH_EDITOR, VISUAL }: LauncherSystem['env']) {
  for (const text of [LAUNCH_EDITOR, VISUAL, EDITOR]) {
    // The setting may have options, such as `code --wait`.
    const [command = ''] = (text ?? '').trim().split(/\s+-/)
    const editor = editors.get(path.basename(command))
    if (editor !== undefined) return { command, editor }
  }
  return undefined
}

async function findRunning({ listProcesses }: LauncherSystem) {
  // Without `ps`, as in a small container, no editor runs.
  const output = await listProcesses().catch(() => '')
  const running = new Set(output.split('\n').flatMap(line => line.trim().split('/')))
  for (const [command, editor] of editors) {
    if (editor.processes.some(name => running.has(name))) return { command, editor }
  }
  return undefined
}

/** Resolves with true if the program is still running after a moment, or has ended well. */
function start(command: string, parameters: readonly string[], env: LauncherSystem['env']): Promise<boolean> {
  // The options of the server's Node.js are not for an editor that is made with it.
  const child = spawn(command, parameters, { stdio: 'ignore', detached: true, env: { ...env, NODE_OPTIONS: '' } })
  child.unref()
  return new Promise(resolve => {
    const timer = startTimer(resolve, startTime, true)
    const end = (isOpened: boolean) => {
      stopTimer(timer)
      resolve(isOpened)
    }
    child.once('error', () => end(false))
    child.once('exit', code => end(code === 0))
  })
}
