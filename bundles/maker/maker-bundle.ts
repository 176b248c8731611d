import type { Application, Bundle } from '../../kernel/bundle.ts'
import type { CommandArgument, CommandOption, ConsoleCommand } from '../../kernel/contracts/console-command.ts'

/** Commands that generate bundles, pages, listeners and collectors, each with its test. For development only. */
export const makerBundle: Bundle = {
  name: 'maker',
  register(app) {
    app.commands.push(async () => createCommands(app))
  },
}

/** The generators are loaded with their first use. */
const loadGenerators = () => import('./generators.ts')

function createCommands(app: Application): ConsoleCommand[] {
  const { directory, routes } = app
  const bundle: CommandOption = {
    name: 'bundle',
    value: 'name',
    description: 'the bundle that it is for',
    async suggest() {
      const { listBundles } = await loadGenerators()
      return listBundles(directory).map(name => [name, ''])
    },
  }
  return [
    {
      name: 'make:bundle',
      description: 'Makes a bundle with its test, and lists it in bundles/index.ts',
      arguments: [nameArgument('shop')],
      options: [dryRun],
      examples: [
        { line: 'make:bundle shop', purpose: 'makes bundles/shop, to which pages and listeners can be added' },
        { line: 'make:bundle shop --dry-run', purpose: 'shows the files without writing them' },
      ],
      run: async (...call) => (await loadGenerators()).makeBundle(app, ...call),
    },
    {
      name: 'make:collector',
      description: 'Makes a collector with its panel in the profiler and its test, and adds it to a bundle',
      arguments: [nameArgument('language')],
      options: [bundle, dryRun],
      examples: [
        { line: 'make:collector language --bundle home', purpose: 'makes a collector with the panel "Language"' },
      ],
      run: async (...call) => (await loadGenerators()).makeCollector(app, ...call),
    },
    {
      name: 'make:listener',
      description: 'Makes a listener with its test, and subscribes it in a bundle',
      arguments: [
        nameArgument('greeting'),
        { name: 'event', description: 'the event that it listens to', choices: events },
      ],
      options: [bundle, dryRun],
      examples: [
        {
          line: 'make:listener greeting kernel.response --bundle home',
          purpose: 'makes a listener for responses',
        },
      ],
      run: async (...call) => (await loadGenerators()).makeListener(directory, ...call),
    },
    {
      name: 'make:page',
      description: 'Makes a page with its route, its template and its test, and adds it to a bundle',
      arguments: [nameArgument('price-list')],
      options: [bundle, dryRun],
      examples: [{ line: 'make:page price-list --bundle home', purpose: 'makes the page /price-list' }],
      run: async (...call) => (await loadGenerators()).makePage(directory, routes, ...call),
    },
  ]
}

/** The lifecycle events. */
const events: readonly string[] = [
  'kernel.request',
  'kernel.controller',
  'kernel.controller_arguments',
  'kernel.view',
  'kernel.response',
  'kernel.finish_request',
  'kernel.exception',
  'kernel.terminate',
]

const dryRun: CommandOption = { name: 'dry-run', description: 'shows the files without writing them' }

function nameArgument(example: string): CommandArgument {
  return { name: 'name', description: `its name in lower case with hyphens, such as ${example}` }
}
