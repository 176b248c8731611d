// The process that serves: started by bin/serve itself, or by its supervisor.
process.setSourceMapsEnabled(true)
const { serve } = await import('../dist/bin/serve.js')
await serve(process.argv.slice(2))
