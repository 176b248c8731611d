import { openLibraryChannels } from '../../bundles/libraries/open-channels.ts'
import { isInstrumented } from '../../bundles/opentelemetry/instrumentations.ts'

// Node runs this program before each test of an application: libraries of databases report their queries, as in development.
await openLibraryChannels(process.cwd(), isInstrumented)
