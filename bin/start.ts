import { runMainProcess } from './main-process.ts'
import { toDirectory } from './sources.ts'

// The program of the main process below a supervisor, and of each worker: the directory of the application, then options.
await runMainProcess(toDirectory(String(process.argv[2])), process.argv.slice(3))
