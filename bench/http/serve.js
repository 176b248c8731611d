// A server process: tells its port, then the CPU time it has used (in microseconds) whenever it is asked.
const [name, feature] = process.argv.slice(2)
const { start } = await import(`./servers/${name}.js`)
const port = await start(feature)

process.on('message', () => {
  const { user, system } = process.cpuUsage()
  process.send?.({ cpu: user + system })
})
process.on('disconnect', () => process.exit())
process.send?.({ port })
