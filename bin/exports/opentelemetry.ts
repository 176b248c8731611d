/// <reference types="node" preserve="true" />
// For the list of bundles: traces for OpenTelemetry.
export { createOpenTelemetryBundle } from '../../bundles/opentelemetry/opentelemetry-bundle.ts'
