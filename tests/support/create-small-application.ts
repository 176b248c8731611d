import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { packageDirectory } from '#lib/package.ts'

const files: Readonly<Record<string, string>> = {
  'package.json': JSON.stringify({ name: 'my-site', private: true, type: 'module' }),
  'tsconfig.json': JSON.stringify({
    compilerOptions: {
      target: 'es2023',
      lib: ['es2023'],
      types: ['node'],
      module: 'nodenext',
      noEmit: true,
      strict: true,
      erasableSyntaxOnly: true,
      rewriteRelativeImportExtensions: true,
      verbatimModuleSyntax: true,
      skipLibCheck: true,
    },
  }),
  '.env': 'APP_SECRET=shipped-for-development-only-never-for-production\n',
  'bin/serve': program('serve'),
  'bin/console': program('runConsole'),
  'bin/test': program('runTests'),
  'bundles/index.ts': `import { type Bundle, createFrameworkBundle } from 'sinfonietta'
import { homeBundle } from './home/home-bundle.ts'

export function createBundles(): Bundle[] {
  return [createFrameworkBundle(), homeBundle]
}
`,
  'bundles/home/home-bundle.ts': `import { type Application, type Bundle, Response } from 'sinfonietta'

export const homeBundle: Bundle = {
  name: 'home',
  register(app: Application) {
    const controller = () => app.view.render('home/home', {})
    app.routes.add({ name: 'home', path: '/', controller: async () => new Response(await controller()) })
  },
}
`,
  'bundles/home/assets/home.css': 'body { color: black }\n',
  'templates/home/home.hbs':
    '<html><head><link rel="stylesheet" href="{{asset \'home/home.css\'}}"></head><body>Hello.</body></html>\n',
  'tests/home.test.ts': `import { t } from 'tap'
import { createBundles } from '../bundles/index.ts'

t.test('there are two bundles', async t => {
  t.equal(createBundles().length, 2)
})
`,
}

function program(name: string): string {
  return `#!/usr/bin/env node
import { ${name} } from 'sinfonietta/server'

await ${name}(new URL('..', import.meta.url))
`
}

/**
 * Writes a small application into an empty directory, which depends on this package. Other packages are found above the
 * directory, if it is below this repository.
 */
export function createSmallApplication(directory: string): void {
  for (const [name, text] of Object.entries(files)) {
    const file = path.join(directory, name)
    mkdirSync(path.dirname(file), { recursive: true })
    writeFileSync(file, text)
  }
  mkdirSync(path.join(directory, 'node_modules'))
  symlinkSync(packageDirectory, path.join(directory, 'node_modules/sinfonietta'), 'junction')
}
