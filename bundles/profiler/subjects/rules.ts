import type { FindingRule } from '../../../kernel/profiler-contract.ts'
import { failedCallRule, failedQueryRule, lateWorkRule, templateQueriesRule } from '../insight/findings/work-rules.ts'
import type { Profile } from '../profile/profile.ts'
import { missingAssetRule } from './assets/facts.ts'
import { slowListenerRule } from './events/facts.ts'
import {
  changedSessionRule,
  insecureCookieRule,
  largeCookieRule,
  needlessSessionRule,
  redirectChainRule,
  uncacheableResponseRule,
  uncompressedResponseRule,
} from './exchange/facts.ts'
import { createUnlimitedCallRule, repeatedCallsRule, sequentialCallsRule } from './http/facts.ts'
import { listenerLeakRule, manyLogsRule } from './logs/facts.ts'
import { blockedLoopRule, synchronousCallRule } from './memory/facts.ts'
import {
  duplicateQueriesRule,
  manyQueriesRule,
  manyRowsRule,
  openTransactionRule,
  repeatedQueriesRule,
  sequentialQueriesRule,
  slowQueryRule,
  starvedPoolRule,
} from './queries/facts.ts'
import { repeatedTemplateRule } from './templates/facts.ts'

/** The rules of the profiler. Each has an entry in `docs/reference/findings.md`. */
export const profilerRules: readonly FindingRule<Profile>[] = [
  failedQueryRule,
  failedCallRule,
  openTransactionRule,
  starvedPoolRule,
  blockedLoopRule,
  synchronousCallRule,
  slowListenerRule,
  repeatedCallsRule,
  sequentialCallsRule,
  createUnlimitedCallRule(),
  repeatedQueriesRule,
  duplicateQueriesRule,
  sequentialQueriesRule,
  slowQueryRule,
  manyRowsRule,
  manyQueriesRule,
  templateQueriesRule,
  repeatedTemplateRule,
  lateWorkRule,
  listenerLeakRule,
  manyLogsRule,
  needlessSessionRule,
  changedSessionRule,
  redirectChainRule,
  missingAssetRule,
  uncacheableResponseRule,
  uncompressedResponseRule,
  insecureCookieRule,
  largeCookieRule,
]
