import type { KernelEvent, Logger } from 'sinfonietta'
import { silentLogger } from 'sinfonietta/testing'
import { RequestContext } from '#kernel/request-context.ts'
import type { Event, EventClass } from '#lib/event-dispatcher/event-dispatcher.ts'
import type { DispatchTracer, TraceSpan } from '#lib/event-dispatcher/traceable-event-dispatcher.ts'
import { Values } from './random-values.ts'

// One for all runs: on Node 20 each `AsyncLocalStorage` makes every promise of the process slower.
const context = new RequestContext()
context.enable()

/** Everything that one run of an application has shown, a line each. A line begins with the current request. */
export class RunLog {
  readonly lines: string[] = []
  readonly context: RequestContext = context
  readonly values: Values = new Values(line => this.write(line))

  /** Adds a line. */
  write(line: string): void {
    const { current } = this.context
    this.lines.push(`${current === undefined ? '' : `${this.values.describe(current)}: `}${line}`)
  }

  /** Values as texts: `a: 1, b: request 1`. */
  describeAll(values: Readonly<Record<string, unknown>>): string {
    return Object.entries(values)
      .map(([name, value]) => `${name}: ${this.values.describe(value)}`)
      .join(', ')
  }

  /** The name and the content of an event, and the trail that listeners have left in its request. */
  describeEvent(event: KernelEvent): string {
    const { isPropagationStopped: _stopped, kernel: _kernel, ...rest } = event
    const { eventName } = event.constructor as unknown as EventClass
    // Some events have the response as a getter.
    const content = this.describeAll({ ...rest, response: Reflect.get(event, 'response') })
    return `${eventName} (${content}) ${event.request.attributes.get('trail') ?? ''}`
  }

  /** A tracer that adds a line at the begin and the end of each dispatch and call. */
  createTracer(): DispatchTracer {
    const begin = (name: string): TraceSpan => {
      this.write(`begin ${name}`)
      return {
        end: (hasFailed, error) => {
          this.write(`end ${name}${hasFailed ? ` with ${this.values.describe(error)}` : ''}`)
        },
      }
    }
    return {
      // The kernel dispatches no other events.
      beginDispatch: (event: Event) => begin(this.describeEvent(event as KernelEvent)),
      beginCall: (_event, { name }) => begin(name),
    }
  }

  /** A logger that adds a line for each message. */
  createLogger(): Logger {
    const log =
      (level: string) =>
      (message: string, context: Parameters<Logger['info']>[1] = {}) => {
        this.write(`${level}: ${message} ${this.describeAll(context)}`)
      }
    const logger: Logger = {
      ...silentLogger,
      debug: log('debug'),
      info: log('info'),
      warning: log('warning'),
      error: log('error'),
      critical: log('critical'),
      withRequestId: () => logger,
    }
    return logger
  }
}
