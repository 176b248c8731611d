import type { FindingRule } from '../../../kernel/profiler-contract.ts'
import type { Profile } from '../profile.ts'
import { blockedLoopRule } from './rules/blocked-loop.ts'
import { insecureCookieRule } from './rules/insecure-cookie.ts'
import { lateWorkRule } from './rules/late-work.ts'
import { needlessSessionRule } from './rules/needless-session.ts'
import { repeatedCallsRule } from './rules/repeated-calls.ts'
import { repeatedTemplateRule } from './rules/repeated-template.ts'
import { sequentialCallsRule } from './rules/sequential-calls.ts'
import { slowListenerRule } from './rules/slow-listener.ts'
import { uncacheableResponseRule } from './rules/uncacheable-response.ts'
import { uncompressedResponseRule } from './rules/uncompressed-response.ts'

/** The profiler's own rules. Each has its entry in `docs/reference/findings.md`. */
export const profilerRules: readonly FindingRule<Profile>[] = [
  blockedLoopRule,
  slowListenerRule,
  repeatedCallsRule,
  sequentialCallsRule,
  repeatedTemplateRule,
  lateWorkRule,
  needlessSessionRule,
  uncacheableResponseRule,
  uncompressedResponseRule,
  insecureCookieRule,
]
