// A server process: tells its port, then, whenever it is asked, the CPU time it has used (in microseconds) or its resident
// memory after a garbage collection (in bytes).
const [name, feature] = process.argv.slice(2)
const { start } = await import(`./servers/${name}.js`)
const port = await start(feature)

process.on('message', async message => {
  if ('wantsMemory' in Object(message)) process.send?.({ memory: await measureMemory() })
  else process.send?.({ cpu: measureCpu() })
})
process.on('disconnect', () => process.exit())
process.send?.({ port })

function measureCpu() {
  const { user, system } = process.cpuUsage()
  return user + system
}

/** Twice, after what is still under way: what is freed by one collection is returned to the system by the next. */
async function measureMemory() {
  for (let collection = 0; collection < 3; collection++) {
    await new Promise(resolve => setTimeout(resolve, 500))
    globalThis.gc?.()
  }
  return process.memoryUsage.rss()
}
