import { createServer, type Server } from 'node:http'
import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client'
import type { Signals } from 'sinfonietta'

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

/** Serves metrics to this machine, on the first free port from `port` on: each worker has its own. */
export function serveMetrics(register: Registry, port: number): Server {
  const server = createServer(async (_request, response) => {
    response.setHeader('content-type', register.contentType)
    response.end(await register.metrics())
  })
  let next = port
  server.on('error', () => {
    next++
    if (next < port + 64) listen()
  })
  // Otherwise the workers would share the port.
  const listen = () => server.listen({ port: next, host: '127.0.0.1', exclusive: true })
  return listen().unref()
}
