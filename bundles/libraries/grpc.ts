import { tracingChannel } from 'node:diagnostics_channel'
import { observeMethod } from '../../lib/observe-calls.ts'
import { readProperty } from '../../lib/text/describe-value.ts'
import { carryRequests, type Library } from './library.ts'

/** Its calls are those of node:http2. Until its client has a connection they wait, and go on in the context of that. */
export const grpc: Library = {
  name: '@grpc/grpc-js',
  reports: 'calls',
  seenBy: 'patch',
  notSeen: 'the status of gRPC, which is in the trailers',
  changes: {
    '@grpc/grpc-js/build/src/resolving-call.js': exports => carryCalls(exports, 'ResolvingCall', 'getConfig'),
    '@grpc/grpc-js/build/src/load-balancing-call.js': exports => carryCalls(exports, 'LoadBalancingCall', 'doPick'),
  },
  watch: ({ context }) => carryRequests(context, [channelName]),
}

const channelName = 'sinfonietta:grpc:call'
const channel = tracingChannel<object>(channelName)

/** A call may go on later, by a method that its queue calls. */
function carryCalls(exports: unknown, name: string, later: string): void {
  const { prototype } = Object(readProperty(exports, name))
  observeMethod(prototype, 'start', call => void channel.start.publish(Object(call)))
  observeMethod(prototype, later, call => {
    channel.asyncStart.publish(Object(call))
    return { after: () => void channel.asyncEnd.publish(Object(call)) }
  })
}
