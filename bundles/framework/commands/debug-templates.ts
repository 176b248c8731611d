import { statSync } from 'node:fs'
import path from 'node:path'
import type { Foundation } from '../../../kernel/bundle.ts'
import { type ConsoleCommand, exitCodes } from '../../../kernel/console-command.ts'

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
      const all = [...view.names()].map(name => ({ name, file: `templates/${name}.hbs` }))
      const found = all.filter(({ name }) => name.includes(filter))
      const templates = found.map(each => ({ ...each, bytes: statSync(path.join(directory, each.file)).size }))
      const table = {
        columns: [{ title: 'Template' }, { title: 'File', isOptional: true }, { title: 'Bytes', align: 'right' }],
        rows: templates.map(({ bytes, file, name }) => [name, file, bytes.toLocaleString('en')]),
      } as const
      output.print({ blocks: [{ kind: 'table', table }], json: templates })
      output.note(`${all.length} templates have no mistakes.`, 'ok')
      return exitCodes.success
    },
  }
}
