import type { Foundation } from '../../../kernel/bundle.ts'
import { type ConsoleCommand, exitCodes } from '../../../kernel/console-command.ts'

/** Creates the command that lists the settings. Values that may be secret are masked. */
export function createDebugConfig(
  app: Pick<Foundation, 'bundles' | 'config' | 'redactor' | 'settings'>,
): ConsoleCommand {
  const { bundles, config, redactor, settings } = app
  return {
    name: 'debug:config',
    description: 'Lists the settings, with secrets masked, and where each comes from',
    arguments: [
      {
        name: 'setting',
        description: 'a part of the name of a setting, or a bundle',
        isOptional: true,
        suggest: () => settings.list().map(({ help, name }) => [name, help]),
      },
    ],
    examples: [
      { line: 'debug:config', purpose: 'lists all settings' },
      { line: 'debug:config APP_ --env prod', purpose: 'lists some settings as production has them' },
    ],
    run({ arguments: { setting = '' } }, output) {
      const chosenBundle = setting.toLowerCase()
      const found = settings
        .list()
        .filter(({ bundle, name }) => name.includes(setting.toUpperCase()) || bundle === chosenBundle)
        .map(({ bundle, from, help, name, value }) => ({ name, value: redactor.text(value), from, bundle, help }))
      if (found.length === 0) {
        const isBundle = bundles.includes(chosenBundle)
        output.error(isBundle ? `The bundle "${chosenBundle}" has no settings.` : `There is no setting "${setting}".`)
        return exitCodes.failure
      }
      const table = {
        columns: [
          { title: 'Setting', cut: 'never' },
          { title: 'Value' },
          { title: 'From' },
          { title: 'Bundle', isOptional: true },
          { title: 'Meaning', isOptional: true },
        ],
        rows: found.map(({ bundle, from, help, name, value }) => [name, value, from, bundle, help]),
      } as const
      const parts = [config.environment, `debug ${config.isDebug ? 'on' : 'off'}`]
      // With wrong settings, no bundle is registered.
      if (bundles.length > 0) parts.push(`bundles: ${bundles.join(', ')}`)
      const unknown = settings.listUnknown()
      const remarks = unknown.map(
        ({ file, name, suggestion }) => `${file} sets ${name}, which is not a setting${suggestion}.`,
      )
      output.print({
        blocks: [
          { kind: 'text', text: parts.join(', '), tone: 'muted' },
          { kind: 'table', table },
          ...remarks.map(text => ({ kind: 'text', text }) as const),
        ],
        json: {
          environment: config.environment,
          isDebug: config.isDebug,
          bundles,
          settings: found,
          unknown: unknown.map(({ file, name }) => ({ name, file })),
        },
      })
      return exitCodes.success
    },
  }
}
