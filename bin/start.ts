import { enableCodeCache } from './code-cache.ts'
import { toDirectory } from './sources.ts'

// The program of the main process below a supervisor, and of each worker: the directory of the application, then options.
const directory = toDirectory(process.argv[2] ?? '')
enableCodeCache(directory)
const { runMainProcess } = await import('./main-process.ts')
await runMainProcess(directory, process.argv.slice(3))
