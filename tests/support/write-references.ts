// Writes the references from the code; with `--release` also the report of the public names of the version in package.json.
import { readFileSync, writeFileSync } from 'node:fs'
import { reportFile, writeReport } from './api-report.ts'
import { readReport } from './public-api.ts'
import { updateReferences } from './references.ts'

const files = await updateReferences()
process.stdout.write(files.length === 0 ? 'All references are up to date.\n' : `Wrote ${files.join(', ')}.\n`)
if (process.argv.includes('--release')) {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
  writeFileSync(reportFile, writeReport(version, readReport()))
  process.stdout.write(`Wrote ${reportFile} for version ${version}.\n`)
}
