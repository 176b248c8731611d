import { realpathSync, statSync } from 'node:fs'
import path from 'node:path'
import { isLocal } from '../../../kernel/debug-gate.ts'
import type { Request } from '../../../lib/http/request.ts'
import { Response } from '../../../lib/http/response.ts'
import { packageDirectory } from '../../../lib/package.ts'
import { resolveLocated, showPath } from '../../../lib/stack/stack-frames.ts'
import { type FilePlace, launchEditor } from './editor-launcher.ts'
import type { EditorLinks } from './editor-links.ts'
import { protect } from './respond.ts'

/** What opens a place. */
export interface OpenServices {
  /** The directory of the application. */
  readonly directory: string
  readonly editor: EditorLinks
  /** Opens a place in the editor of this machine. */
  readonly launch?: (place: FilePlace) => Promise<boolean>
}

/**
 * Opens a place in the editor: the field `at` of the form is a file, and optionally its line and column. For a client on this
 * machine the server starts the editor. If it knows none, or if the field `editor` names one, the answer has links that open
 * the place on the machine of the client.
 */
export async function openEditor(request: Request, services: OpenServices): Promise<Response> {
  const { directory, editor, launch = launchEditor } = services
  const form = await request.formData()
  const [at, wanted] = ['at', 'editor'].map(name => form.get(name))
  const place = typeof at === 'string' ? findPlace(at, directory) : undefined
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

/** Finds the file of a place such as `bundles/shop/shop-bundle.ts:12:5`; `undefined` if it may not be opened. */
function findPlace(text: string, directory: string): FilePlace | undefined {
  const [, file = '', line = '1', column = '1'] = /^([^:\0]+)(?::(\d{1,7}))?(?::(\d{1,7}))?$/.exec(text) ?? []
  if (file === '') return undefined
  const wanted = resolveLocated(file, directory)
  return mayBeOpened(wanted, directory) ? { file: wanted, line: Number(line), column: Number(column) } : undefined
}

/**
 * Whether a path is that of a regular file of the application, of one of its packages, or of this package. A symbolic link
 * may lead nowhere else; only the folder of a package in `node_modules` may itself be a link, as npm makes it.
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
