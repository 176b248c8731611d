import type { FindingRule } from '../../../kernel/contracts/collectors.ts'
import { calledErrorRule } from '../insight/findings/called-rules.ts'
import { slowListenerRule } from '../insight/findings/listener-rules.ts'
import {
  failedCallRule,
  failedMailRule,
  failedQueryRule,
  idleTransactionRule,
  lateWorkRule,
  pendingWorkRule,
  templateQueriesRule,
  transactionCallRule,
  transactionMailRule,
} from '../insight/findings/work-rules.ts'
import type { Profile } from '../profile/profile.ts'
import { missingAssetRule } from './assets/rules.ts'
import { manyConsoleCallsRule } from './console/rules.ts'
import { lateErrorRule, secondResponseRule } from './exception/rules.ts'
import {
  changedSessionRule,
  insecureCookieRule,
  largeCookieRule,
  lostSessionChangeRule,
  needlessSessionRule,
  plainPageRule,
  redirectChainRule,
  uncacheableResponseRule,
  uncompressedResponseRule,
  wrongLengthRule,
} from './exchange/rules.ts'
import { createUnlimitedCallRule, repeatedCallsRule, sequentialCallsRule } from './http/rules.ts'
import { listenerLeakRule, manyLogsRule } from './logs/rules.ts'
import { hostlessLinkRule, slowMailRule } from './mails/rules.ts'
import { blockedLoopRule, synchronousCallRule } from './memory/rules.ts'
import { openTransactionRule } from './queries/open-transaction.ts'
import {
  duplicateQueriesRule,
  manyQueriesRule,
  manyRowsRule,
  repeatedCommandsRule,
  repeatedQueriesRule,
  sequentialQueriesRule,
  slowQueryRule,
  starvedPoolRule,
} from './queries/rules.ts'
import { repeatedTemplateRule } from './templates/rules.ts'
import { failedJobRule, repeatedJobRule, waitingJobRule } from './unit/rules.ts'

/** The rules of the profiler. Each has an entry in `docs/reference/findings.md`. */
export const profilerRules: readonly FindingRule<Profile>[] = [
  failedQueryRule,
  failedCallRule,
  calledErrorRule,
  failedJobRule,
  failedMailRule,
  secondResponseRule,
  lateErrorRule,
  wrongLengthRule,
  openTransactionRule,
  lostSessionChangeRule,
  transactionCallRule,
  transactionMailRule,
  idleTransactionRule,
  starvedPoolRule,
  blockedLoopRule,
  synchronousCallRule,
  slowListenerRule,
  repeatedCallsRule,
  sequentialCallsRule,
  createUnlimitedCallRule(),
  slowMailRule,
  repeatedQueriesRule,
  duplicateQueriesRule,
  repeatedCommandsRule,
  sequentialQueriesRule,
  slowQueryRule,
  manyRowsRule,
  manyQueriesRule,
  templateQueriesRule,
  repeatedTemplateRule,
  lateWorkRule,
  pendingWorkRule,
  repeatedJobRule,
  waitingJobRule,
  listenerLeakRule,
  manyLogsRule,
  manyConsoleCallsRule,
  needlessSessionRule,
  changedSessionRule,
  redirectChainRule,
  hostlessLinkRule,
  missingAssetRule,
  plainPageRule,
  uncacheableResponseRule,
  uncompressedResponseRule,
  insecureCookieRule,
  largeCookieRule,
]
