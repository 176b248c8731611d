import type { Application } from '../../kernel/bundle.ts'
import { CorsPolicies } from './cors-policies.ts'
import { CorsListener } from './listeners/cors-listener.ts'
import { CrossOriginListener } from './listeners/cross-origin-listener.ts'
import { MethodOverrideListener } from './listeners/method-override-listener.ts'
import type { ResolvedProtection } from './protection-options.ts'

/** Adds the listeners for requests of other origins, and for methods that forms cannot send. */
export function addProtection(
  { debugGate, dispatcher, logger, routes, signals }: Application,
  { cors, crossOrigin, methodOverride }: ResolvedProtection,
  refusesCrossOrigin: boolean,
): void {
  if (methodOverride) new MethodOverrideListener().subscribe(dispatcher)
  const policies = new CorsPolicies(cors)
  if (refusesCrossOrigin) {
    const services = { origins: crossOrigin, policies, logger, isDebug: debugGate.isDebug }
    new CrossOriginListener(services).subscribe(dispatcher)
  }
  // Not earlier: then all bundles have added their routes. An application without CORS has no such listener.
  signals.on('kernel.booted', () => {
    const isUsed = cors !== undefined || [...routes].some(({ defaults }) => '_cors' in defaults)
    if (isUsed) new CorsListener(policies, routes).subscribe(dispatcher)
  })
}
