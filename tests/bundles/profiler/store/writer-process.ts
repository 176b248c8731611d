// A process that stores profiles; it is started by writers.ts with: directory, first token, count, group, mode.
import { FileProfileStorage } from '#bundles/profiler/store/file-profile-storage.ts'
import { createRecords, facts } from '#tests/support/create-profile.ts'

const [directory = '', first = '0', count = '0', group = '1', mode = 'close'] = process.argv.slice(2)

const storage = new FileProfileStorage({
  directory,
  onProblem: (message, error) => process.stderr.write(`${message} ${error}\n`),
  limits: { count: mode === 'few' ? 200 : 1_000_000, bytes: 1_000_000_000 },
})

/** Writes one group at a time, and prints its tokens when it is stored. */
for (let next = 0; next < Number(count); next += Number(group)) {
  const records = createRecords(Math.min(Number(group), Number(count) - next), Number(first) + next)
  for (const record of records) storage.append(record, facts)
  if (mode === 'leave') continue
  await storage.flush()
  process.stdout.write(records.map(({ summary }) => `${summary.token}\n`).join(''))
}
// Otherwise the process ends when its event loop is empty.
if (mode === 'close' || mode === 'few') await storage.close()
