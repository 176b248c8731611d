import type { Bundle } from '../../kernel/bundle.ts'
import { createMakeBundle } from './commands/make-bundle.ts'
import { createMakeCollector } from './commands/make-collector.ts'
import { createMakeListener } from './commands/make-listener.ts'
import { createMakePage } from './commands/make-page.ts'

/** Writes the beginnings of bundles, pages, listeners and collectors, each with its test; for development only. */
export const makerBundle: Bundle = {
  name: 'maker',
  register({ commands, directory, routes }) {
    commands.push(
      createMakeBundle(directory),
      createMakeCollector(directory),
      createMakeListener(directory),
      createMakePage(directory, routes),
    )
  },
}
