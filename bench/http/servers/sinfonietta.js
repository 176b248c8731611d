import { Readable } from 'node:stream'
import { tuneGarbageCollector } from '../../../dist/bin/serving/main-process.js'
import { createOpenTelemetryBundle } from '../../../dist/bundles/opentelemetry/opentelemetry-bundle.js'
import { NodeServer } from '../../../dist/kernel/server/node-server.js'
import { EventStream } from '../../../dist/lib/http/event-stream.js'
import { Response } from '../../../dist/lib/http/response.js'
import { TrustedProxies } from '../../../dist/lib/http/trusted-proxies.js'
import { bootKernel } from '../../boot-kernel.js'
import { createPieces, event, fileSize, greeting, host, targets } from '../work.js'

/** @type {import('../../../dist/kernel/bundle.js').Bundle} */
const benchBundle = {
  name: 'bench',
  register({ routes }) {
    routes.add({
      name: 'hello',
      path: targets.json,
      methods: ['GET'],
      controller: () => Response.json(greeting),
    })
    routes.add({
      name: 'echo',
      path: targets.echo,
      methods: ['POST'],
      controller: async request => Response.json(await request.json()),
    })
    routes.get('download', targets.download, () => {
      const headers = { 'content-length': String(fileSize) }
      return Response.stream(Readable.from(createPieces()), { headers })
    })
    routes.add({
      name: 'upload',
      path: targets.upload,
      methods: ['POST'],
      defaults: { _body_limit: fileSize },
      controller: async request => {
        let bytes = 0
        for await (const chunk of request.body.stream()) bytes += chunk.length
        return Response.json({ bytes })
      },
    })
    /** @type {Set<EventStream>} */
    const streams = new Set()
    routes.get('events', targets.events, request => {
      return new EventStream(request, stream => {
        streams.add(stream)
        return () => streams.delete(stream)
      })
    })
    routes.get('publish', targets.publish, () => {
      for (const stream of streams) stream.send(event)
      return Response.json(greeting)
    })
  },
}

/**
 * This kernel as bin/serve starts it in production, with source maps.
 *
 * @param {string} [feature] `access` logs each request; `context` follows requests, as a bundle may
 *   ask; `traces` has the bundle for traces, which is off; `traces:` and an endpoint turns it on
 */
export async function start(feature = '') {
  process.setSourceMapsEnabled(true)
  tuneGarbageCollector()
  const endpoint = feature.replace(/^traces:?/, '')
  const app = feature.startsWith('traces')
    ? (await bootKernel([createOpenTelemetryBundle(), benchBundle], 'prod', { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint }))
        .app
    : (await bootKernel([benchBundle], 'prod', feature === 'access' ? { ACCESS_LOG: '1' } : {})).app
  if (feature === 'context') app.context.enable()
  const trustedProxies = new TrustedProxies(app.config.trustedProxies)
  const url = await new NodeServer(app, { trustedProxies }).listen(host, 0)
  return Number(new URL(url).port)
}
