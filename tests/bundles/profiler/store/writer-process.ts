// A process that keeps profiles; it is started by processes.test.ts with: directory, first token, count, group, mode.
import { FileProfileStorage } from '#bundles/profiler/store/file-profile-storage.ts'
import { createRecords, facts } from './records.ts'

const [directory = '', first = '0', count = '0', group = '1', mode = 'close'] = process.argv.slice(2)

const storage = new FileProfileStorage({
  directory,
  onProblem: (message, error) => process.stderr.write(`${message} ${error}\n`),
  limits: { count: mode === 'few' ? 200 : 1_000_000, bytes: 1_000_000_000 },
})

/** A group at a time; its tokens are printed when it is safe. */
for (let next = 0; next < Number(count); next += Number(group)) {
  const records = createRecords(Math.min(Number(group), Number(count) - next), Number(first) + next)
  for (const record of records) storage.append(record, facts)
  if (mode === 'leave') continue
  await storage.flush()
  process.stdout.write(records.map(({ summary }) => `${summary.token}\n`).join(''))
}
// Otherwise it ends as soon as nothing keeps it.
if (mode === 'close' || mode === 'few') await storage.close()
