import type { FindingRule } from '../../../kernel/profiler-contract.ts'
import { failedCallRule, failedQueryRule, lateWorkRule, templateQueriesRule } from '../insight/findings/work-rules.ts'
import type { Profile } from '../profile/profile.ts'
import { missingAssetRule } from './assets/rules.ts'
import { slowListenerRule } from './events/rules.ts'
import {
  changedSessionRule,
  insecureCookieRule,
  largeCookieRule,
  needlessSessionRule,
  redirectChainRule,
  uncacheableResponseRule,
  uncompressedResponseRule,
} from './exchange/rules.ts'
import { createUnlimitedCallRule, repeatedCallsRule, sequentialCallsRule } from './http/rules.ts'
import { listenerLeakRule, manyLogsRule } from './logs/rules.ts'
import { blockedLoopRule, synchronousCallRule } from './memory/rules.ts'
import {
  duplicateQueriesRule,
  manyQueriesRule,
  manyRowsRule,
  openTransactionRule,
  repeatedQueriesRule,
  sequentialQueriesRule,
  slowQueryRule,
  starvedPoolRule,
} from './queries/rules.ts'
import { repeatedTemplateRule } from './templates/rules.ts'

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
