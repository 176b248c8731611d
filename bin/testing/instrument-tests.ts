import { loadInstrumentations } from '../application/instrumentation.ts'

// Node runs this program before each test of an application: a test imports bundles, and with them the libraries.
await loadInstrumentations(process.cwd())
