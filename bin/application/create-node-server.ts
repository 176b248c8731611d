import type { Application } from '../../kernel/bundle.ts'
import { NodeServer, type NodeServerOptions } from '../../kernel/server/node-server.ts'
import { checkOptions } from '../../lib/errors/arguments.ts'
import { TrustedProxies } from '../../lib/http/trusted-proxies.ts'
import type { ShapeOf } from '../../lib/text/mistakes.ts'

const serverShape: ShapeOf<NodeServerOptions> = {
  trustedProxies: 'object',
  identity: 'object',
  answerTimeout: 'number',
  idleTimeout: 'number',
  nodeMessages: 'boolean',
}

/** Creates the server of a booted application. By default it trusts the proxies of the application's settings. */
export function createNodeServer(app: Application, options: Partial<NodeServerOptions> = {}): NodeServer {
  checkOptions('createNodeServer()', options, serverShape)
  const trustedProxies = new TrustedProxies(app.config.trustedProxies, app.config.trustedHeaders)
  return new NodeServer(app, { trustedProxies, ...options })
}
