import type { Redactor } from '../../../lib/redact/redactor.ts'
import { SourceExcerpts } from '../../../lib/stack/source-excerpts.ts'
import { summarizeSamples } from '../cpu/summarize-samples.ts'
import type { ProfileCollector } from '../recording/profile-collector.ts'

/** Tells what the CPU did while a request was handled, of those that somebody wanted to be sampled. */
export function createCpuCollector(directory: string, redactor: Redactor): ProfileCollector {
  const sources = new SourceExcerpts(directory, redactor)
  return {
    name: 'cpu',
    collect: ({ cpu }) => cpu && summarizeSamples(cpu.stop(), { directory, redactor, sources }),
  }
}
