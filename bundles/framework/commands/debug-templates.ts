import { statSync } from 'node:fs'
import path from 'node:path'
import type { Foundation } from '../../../kernel/bundle.ts'
import { type ConsoleCommand, exitCodes } from '../../../kernel/console-command.ts'
import type { Column } from '../../../lib/console/table.ts'
import { showPath } from '../../../lib/text/show-path.ts'

/** Creates the command that checks all templates, and lists them. */
export function createDebugTemplates({ directory, view }: Pick<Foundation, 'directory' | 'view'>): ConsoleCommand {
  return {
    name: 'debug:templates',
    description: 'Checks all templates, and lists them',
    arguments: [{ name: 'filter', description: 'a part of the name; all are checked nevertheless', isOptional: true }],
    examples: [
      { line: 'debug:templates', purpose: 'fails when a template has a mistake, and names each' },
      { line: 'debug:templates site/', purpose: 'lists the templates of the site' },
    ],
    run({ arguments: { filter = '' } }, output) {
      // Its error names every mistake.
      view.load()
      const all = view.files()
      // Those of the application first: the profiler alone has dozens.
      const templates = all
        .filter(({ name }) => name.includes(filter))
        .map(({ file, name, replaces }) => ({
          name,
          file: showPath(file, directory),
          ...(replaces !== undefined && { replaces: showPath(replaces, directory) }),
          bytes: statSync(file).size,
        }))
        .sort((one, other) => Number(isPackaged(one.file)) - Number(isPackaged(other.file)))
      const hasReplaced = templates.some(({ replaces }) => replaces !== undefined)
      const columns: readonly Column[] = [
        { title: 'Template' },
        { title: 'File', isOptional: true },
        ...(hasReplaced ? [{ title: 'Replaces', isOptional: true }] : []),
        { title: 'Bytes', align: 'right' },
      ]
      const rows = templates.map(({ bytes, file, name, replaces = '' }) => [
        ...[name, file],
        ...(hasReplaced ? [replaces] : []),
        bytes.toLocaleString('en'),
      ])
      output.print({ blocks: [{ kind: 'table', table: { columns, rows } }], json: templates })
      const globals = view.globals()
      if (globals.length > 0) output.note(`Globals of all templates: ${globals.map(name => `@${name}`).join(', ')}.`)
      output.note(`${all.length} templates have no mistakes.`, 'ok')
      return exitCodes.success
    },
  }
}

/** Whether a shown path is of a package: outside of the application, or in its `node_modules`. */
function isPackaged(file: string): boolean {
  return path.isAbsolute(file) || file.startsWith(`node_modules${path.sep}`)
}
