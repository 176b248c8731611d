import { type CommandOption, type ConsoleCommand, exitCodes } from '../../../kernel/console-command.ts'
import { showProfile } from '../insight/show-profile.ts'
import { toSummaryView } from '../insight/summary-view.ts'
import { listPanels } from '../web/export-profile.ts'
import { hasContent } from '../web/panels/render-panel.ts'
import { type CommandServices, findRecord, missing, tokenArgument } from './find-profile.ts'

/** Creates the command that shows a profile or one of its panels, as its `.md` and `.json` addresses do. */
export function createProfilerShow({ inspector, panels, storage }: CommandServices): ConsoleCommand {
  const panelOption: CommandOption = {
    name: 'panel',
    value: 'name',
    description: 'shows one panel, such as request or events',
    suggest: async () => (await panels()).map(({ label, name }) => [name, label]),
  }
  return {
    name: 'profiler:show',
    description: 'Shows the profile of a request, with its findings',
    arguments: [tokenArgument(storage)],
    options: [panelOption],
    examples: [
      { line: 'profiler:show latest', purpose: 'shows the latest request, failures first' },
      { line: 'profiler:show 1a2b3c --panel logger', purpose: 'shows the log messages' },
      { line: 'profiler:show latest --panel findings', purpose: 'shows the findings only' },
      { line: 'profiler:show latest --json', purpose: 'writes the whole profile for a program' },
    ],
    async run({ arguments: words, options: { panel } }, output) {
      const token = words.token ?? ''
      const found = await findRecord(storage, token)
      if (found === undefined) {
        output.error(missing(token))
        return exitCodes.failure
      }
      const { profile } = found
      const all = await panels()
      if (panel !== undefined && !listPanels(all, profile).includes(panel)) {
        output.error(`The profile has no panel "${panel}". It has ${listPanels(all, profile).join(', ')}.`)
        return exitCodes.failure
      }
      const [{ toJson }, { toMarkdown }] = await Promise.all([
        import('../export/json.ts'),
        import('../export/markdown.ts'),
      ])
      const record = await showProfile(found, storage, inspector)
      const tone = toSummaryView(profile.summary).tone
      output.print({
        blocks: [{ kind: 'markdown', text: toMarkdown(record, panel), tone: tone === 'plain' ? 'strong' : tone }],
        json: toJson(record, panel),
      })
      if (panel === undefined && output.format === 'text') {
        const names = all.filter(panel => hasContent(panel, profile)).map(({ name }) => name)
        output.note(`\n--panel shows one of them in detail: ${names.join(', ')}.`)
      }
      return exitCodes.success
    },
  }
}
