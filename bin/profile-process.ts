import { profileProcess } from './profile.ts'

// Before the application: the address of the pages is known when its first request comes.
await profileProcess().catch(error => process.stderr.write(`Nothing is profiled: ${error}\n`))
