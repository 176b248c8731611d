import { createServer } from 'node:http'
import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client'
import type { Logger, Signals } from 'sinfonietta'

/** Creates metrics of the process and of all requests. */
export function createMetrics(signals: Signals): Registry {
  const register = new Registry()
  const registers = [register]
  collectDefaultMetrics({ register })
  const labelNames = ['method', 'route', 'status'] as const
  const durations = new Histogram({
    name: 'http_server_request_duration_seconds',
    help: 'Time until the response was sent.',
    labelNames,
    registers,
  })
  const bytes = new Counter({
    name: 'http_server_response_bytes_total',
    help: 'Bytes of bodies that were sent.',
    labelNames,
    registers,
  })
  signals.on('request.finished', ({ request, response, route = 'none', duration, bytesSent }) => {
    const labels = { method: request.method, route, status: response.status }
    durations.observe(labels, duration / 1000)
    bytes.inc(labels, bytesSent)
  })
  return register
}

/**
 * Serves metrics to this machine, on a port that each worker has for itself. During a reload, the old
 * worker has the port until it drains: the new one tries again. Returns a function that frees the port.
 */
export function serveMetrics(register: Registry, port: number, log: Pick<Logger, 'warning'>): () => void {
  const server = createServer(async (_request, response) => {
    response.setHeader('content-type', register.contentType)
    response.end(await register.metrics())
  })
  let attempts = 0
  let timer: NodeJS.Timeout | undefined
  // Without `exclusive`, the workers would share the port.
  const listen = () => server.listen({ port, host: '127.0.0.1', exclusive: true })
  server.on('error', error => {
    if (++attempts === 100) log.warning('The metrics are not served.', { exception: error })
    timer = setTimeout(listen, 100).unref()
  })
  listen().unref()
  return () => {
    clearTimeout(timer)
    server.close()
  }
}
