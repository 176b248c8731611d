// Handles pages in applications with and without the profiler, in turns, and reports microseconds for each, by round. The applications log
// to its output.
import { createRun } from './http/servers/development.js'
import { measureFunctions } from './measure-functions.js'

const [rounds, calls] = process.argv.slice(2).map(Number)
const functions = { plain: await createRun('plain'), profiled: await createRun('profiled') }
const measured = await measureFunctions(functions, { rounds: rounds ?? 1, calls: calls ?? 1 })
process.on('disconnect', () => process.exit())
process.send?.(Object.fromEntries([...measured].map(([name, values]) => [name, values.map(cost => cost / 1000)])))
