import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { VIEW_FOLDER_UNREADABLE } from './errors.ts'

/** A folder with templates. */
export interface TemplateFolder {
  /** An absolute path. */
  readonly path: string
  /**
   * The bundle that the folder belongs to: its name and a slash begin the names of all templates in the folder. Without
   * it, the folder is that of the application: it has a folder for each bundle, and may be missing.
   */
  readonly bundle?: string
  /** Whether its templates need no check where no others are: they have tests. */
  readonly isCore?: boolean | undefined
}

/** The file of a template. */
export interface TemplateFile {
  /** `site/page`: the path in the application's folder, without `.hbs`. */
  readonly name: string
  /** The absolute path. */
  readonly file: string
  /** The file of a bundle that is not used, because this file comes first. */
  readonly replaces?: string
}

const suffix = '.hbs'

/**
 * Lists the templates of all folders, sorted by name. The first folder with a template of a name has the file that is
 * used. `bundles` are the names of the folders that are read in the application's folder.
 *
 * @throws VIEW_FOLDER_UNREADABLE
 */
export function listTemplates(
  folders: readonly TemplateFolder[],
  bundles: readonly string[] | undefined,
): readonly TemplateFile[] {
  const found = new Map<string, TemplateFile>()
  for (const { name, file } of folders.flatMap(folder => listFolder(folder, bundles))) {
    const first = found.get(name)
    found.set(name, first === undefined ? { name, file } : { ...first, replaces: file })
  }
  return [...found.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
}

function listFolder(folder: TemplateFolder, bundles: readonly string[] | undefined): TemplateFile[] {
  const prefix = folder.bundle === undefined ? '' : `${folder.bundle}/`
  const isWanted = ([first = '', ...rest]: readonly string[]) =>
    folder.bundle !== undefined || bundles === undefined || rest.length === 0 || bundles.includes(first)
  return readFolder(folder)
    .filter(file => file.endsWith(suffix) && isWanted(file.split(path.sep)))
    .map(file => ({
      name: prefix + file.slice(0, -suffix.length).replaceAll(path.sep, '/'),
      file: path.join(folder.path, file),
    }))
}

function readFolder({ path: folder, bundle }: TemplateFolder): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
  } catch (error) {
    const { code = 'unknown' } = error as NodeJS.ErrnoException
    if (bundle === undefined && code === 'ENOENT') return []
    throw new VIEW_FOLDER_UNREADABLE([folder, code], { cause: error })
  }
}

/** The folders in which a template of a name would be found. */
export function foldersFor(name: string, folders: readonly TemplateFolder[]): string[] {
  return folders
    .filter(({ bundle }) => bundle === undefined || name.startsWith(`${bundle}/`))
    .map(folder => folder.path)
}

/** A file that is not used as a template, and the reason. */
export interface UnusedTemplate extends TemplateFile {
  readonly reason: string
}

/**
 * Lists the files of an application that are not used as templates, because their bundles are not in the
 * list, or because they are in the folder `bundles/<name>/templates` of a bundle that does not name it.
 */
export function listUnused(
  folders: readonly TemplateFolder[],
  bundles: readonly string[] | undefined,
): readonly UnusedTemplate[] {
  const own = listTemplates(folders.slice(0, 1), undefined).filter(({ name }) => name.includes('/'))
  return [...own, ...listMisplaced(folders), ...listForeign(folders)].flatMap(({ file, name }) => {
    const bundle = bundleOf(name)
    if (bundles?.includes(bundle) === false) {
      return [{ name, file, reason: `no bundle "${bundle}" is in the list of bundles` }]
    }
    return own.some(each => each.file === file)
      ? []
      : [{ name, file, reason: `its ${file.endsWith(suffix) ? 'place' : 'name'} is templates/${name}${suffix}` }]
  })
}

/** Files in the folder of the application whose names end as those of other languages for templates. */
function listForeign([folder]: readonly TemplateFolder[]): TemplateFile[] {
  return (folder === undefined ? [] : readFolder(folder)).flatMap(file => {
    const [, name] =
      /^(.+?)\.(?:(?:html?|hbs|handlebars|mustache|twig|njk|liquid|ejs|eta|pug)(?:\.\w+)?)$/i.exec(
        file.replaceAll(path.sep, '/'),
      ) ?? []
    return name === undefined || folder === undefined ? [] : [{ name, file: path.join(folder.path, file) }]
  })
}

function listMisplaced(folders: readonly TemplateFolder[]): TemplateFile[] {
  const folder = path.join(path.dirname(folders[0]?.path ?? ''), 'bundles')
  return readFolder({ path: folder }).flatMap(file => {
    const [, bundle, name] = /^([^/]+)\/templates\/(.+)\.hbs$/.exec(file.replaceAll(path.sep, '/')) ?? []
    return bundle === undefined ? [] : [{ name: `${bundle}/${name}`, file: path.join(folder, file) }]
  })
}

/** The first part of the name of a template, which is the name of its bundle. */
export function bundleOf(name: string): string {
  const [bundle = ''] = name.split('/', 1)
  return bundle
}

/** Reads a template, without the mark that editors of Windows put at its begin. */
export function readTemplate(file: string): string {
  return readFileSync(file, 'utf8').replace(/^\uFEFF/, '')
}
