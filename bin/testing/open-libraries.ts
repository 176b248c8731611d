import { openLibraries } from '../../bundles/libraries/libraries.ts'
import { isInstrumented } from '../../bundles/opentelemetry/instrumentations.ts'

// Node runs this program before each test of an application: libraries of databases report their
// queries, as in development.
await openLibraries(process.cwd(), isInstrumented)
