import type { Bundle } from '../../kernel/bundle.ts'

/** Writes the beginnings of bundles, pages, listeners and collectors, each with its test; for development only. */
export const makerBundle: Bundle = {
  name: 'maker',
  register(app) {
    app.commands.push(async () => (await import('./create-commands.ts')).createCommands(app))
  },
}
