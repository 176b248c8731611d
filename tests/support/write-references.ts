// Writes the references from the code; with `--release` also the report of the public names of the version in
// package.json. That is refused as long as the changelog has unreleased changes: each changed name has a line there.
import { readFileSync, writeFileSync } from 'node:fs'
import { reportFile, writeReport } from './api-report.ts'
import { readReport } from './public-api.ts'
import { updateReferences } from './references.ts'

if (process.argv.includes('--release') && /^## Unreleased$/m.test(readFileSync('CHANGELOG.md', 'utf8'))) {
  process.stderr.write(
    'CHANGELOG.md has the part "Unreleased": replace this heading by the version and its date first.\n',
  )
  process.exit(1)
}
const files = await updateReferences()
process.stdout.write(files.length === 0 ? 'All references are up to date.\n' : `Wrote ${files.join(', ')}.\n`)
if (process.argv.includes('--release')) {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
  writeFileSync(reportFile, writeReport(version, readReport()))
  process.stdout.write(`Wrote ${reportFile} for version ${version}.\n`)
}
