// Writes docs/reference/api.md from the entry points, and the packages at run time with their licences; with `--release` also
// the report of the version of package.json.
import { readFileSync, writeFileSync } from 'node:fs'
import { referenceFile, reportFile, writeReference, writeReport } from './api-report.ts'
import { readEntryPoints, readReport } from './public-api.ts'
import { packagesFile, readRunTimePackages, writePackages } from './run-time-packages.ts'

writeFileSync(referenceFile, writeReference(readFileSync(referenceFile, 'utf8'), readEntryPoints()))
writeFileSync(packagesFile, writePackages(readFileSync(packagesFile, 'utf8'), readRunTimePackages()))
process.stdout.write(`Wrote ${referenceFile} and ${packagesFile}.\n`)
if (process.argv.includes('--release')) {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
  writeFileSync(reportFile, writeReport(version, readReport()))
  process.stdout.write(`Wrote ${reportFile} for version ${version}.\n`)
}
