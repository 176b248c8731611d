// Writes docs/reference/api.md from the entry points; with `--release` also the report of the version of package.json.
import { readFileSync, writeFileSync } from 'node:fs'
import { referenceFile, reportFile, writeReference, writeReport } from './api-report.ts'
import { readEntryPoints, readReport } from './public-api.ts'

writeFileSync(referenceFile, writeReference(readFileSync(referenceFile, 'utf8'), readEntryPoints()))
process.stdout.write(`Wrote ${referenceFile}.\n`)
if (process.argv.includes('--release')) {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
  writeFileSync(reportFile, writeReport(version, readReport()))
  process.stdout.write(`Wrote ${reportFile} for version ${version}.\n`)
}
