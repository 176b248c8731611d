import { currentMessage, report } from '../../kernel/contracts/functions.ts'
import { observeCalls } from '../../lib/observe-calls.ts'
import { readProperty } from '../../lib/text/describe-value.ts'
import { failWith, measureCall } from './framework-calls.ts'
import type { Library } from './library.ts'

/**
 * It calls all functions of the application by one that makes spans, if these are enabled; another
 * one gets errors that are answered.
 */
export const svelteKit: Library = {
  name: '@sveltejs/kit',
  reports: 'functions',
  seenBy: 'patch',
  from: '2.31',
  node: '22.15',
  declares: {
    record_span: code => observeCalls(code, (_, [given]) => measureSpan(given as KitSpan)),
    // The error is its last argument.
    handle_error_and_jsonify: code =>
      observeCalls(code, (_, args) => {
        const error = args.at(-1)
        // Without a route, the framework itself refuses the request.
        return readProperty(error, 'status') === 404 ? undefined : failWith(error)
      }),
  },
}

interface KitSpan {
  readonly name: string
  readonly attributes: Readonly<Record<string, unknown>>
}

/** The attribute that names the work, by the names of spans. Others contain these. */
const works: Readonly<Record<string, readonly [phase: string, attribute: string]>> = {
  'sveltekit.load': ['load', 'sveltekit.load.node_id'],
  'sveltekit.form_action': ['action', 'sveltekit.form_action.name'],
  'sveltekit.remote.call': ['remote function', 'sveltekit.remote.call.id'],
  'sveltekit.endpoint': ['handler', 'http.route'],
}

function measureSpan({ attributes, name }: KitSpan) {
  const { 'http.route': pattern } = attributes
  // It has no route for a path without one.
  if (typeof pattern === 'string' && pattern !== 'unknown')
    report(currentMessage, work => work.noteRoute({ key: currentMessage, pattern, parameters: undefined, handler: '' }))
  const [phase = '', attribute = ''] = works[name] ?? []
  return phase === '' ? undefined : measureCall(phase, String(attributes[attribute] ?? phase))
}
