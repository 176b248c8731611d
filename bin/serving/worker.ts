import { enableCodeCache, toDirectory } from '../application/sources.ts'

// The program of each worker: the directory of the application, then options.
const directory = toDirectory(process.argv[2] ?? '')
enableCodeCache(directory)
const { runMainProcess } = await import('./main-process.ts')
await runMainProcess(directory, process.argv.slice(3))
