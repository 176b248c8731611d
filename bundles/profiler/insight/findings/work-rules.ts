import type { FindingRule, RuleFinding } from '../../../../kernel/contracts/collectors.ts'
import { severityOf } from '../../../../lib/log/create-logger.ts'
import { mask } from '../../../../lib/redact/secret-names.ts'
import type { ValueTree } from '../../../../lib/redact/value-tree.ts'
import { readEventTree } from '../../profile/event-tree.ts'
import { readExceptions } from '../../profile/exceptions.ts'
import { formatCount, formatDuration, shorten, toOneLine } from '../../profile/format.ts'
import { groupBy } from '../../profile/group-by.ts'
import type { CollectorTypes, Profile } from '../../profile/profile.ts'
import { unitOf } from '../../profile/units.ts'
import {
  hasClientLeft,
  joinPeriods,
  periodOf,
  readStops,
  stoppedTime,
  subtractPeriods,
  sumOfTimes,
  totalOf,
  workTime,
} from '../../profile/work.ts'
import { isLate, readCalls, type StoredCall } from '../../subjects/http/read.ts'
import { readLogs, type StoredLog } from '../../subjects/logs/read.ts'
import { isLateMail, nameOfMail, readMails, type StoredMail } from '../../subjects/mails/read.ts'
import { endsTransaction, readQueries, type StoredQuery } from '../../subjects/queries/read.ts'
import { findRepeatedQueries, isAnswered, shortenStatement, toQueryPlace } from '../../subjects/queries/rules.ts'
import { readRenders } from '../../subjects/templates/read.ts'
import { describePlaces } from './finding.ts'

/** Finds queries that a template started. */
export const templateQueriesRule: FindingRule<Profile> = {
  name: 'template-queries',
  title: 'Query in a template',
  find(profile) {
    const renders = readRenders(profile).all
    if (renders.length === 0) return []
    const { all } = findRepeatedQueries(profile)
    const queries = readQueries(profile).database.queries.filter(query => !all.has(query))
    // The innermost render is the last one that had started.
    const byTemplate = groupBy(
      queries,
      ({ start: at }) => renders.findLast(({ duration, start }) => start <= at && at < start + duration)?.name ?? '',
    )
    byTemplate.delete('')
    return [...byTemplate].map(([template, group]) => ({
      // It works; but its time is that of the page, and no test of the controller sees it.
      severity: 'info',
      problem: `{template} ran ${formatCount(group.length, 'query', 'queries')} while it was rendered, ${formatDuration(sumOfTimes(group))} in total.`,
      ...describePlaces(group, { template }, 'Run queries in the controller and pass their results to the template'),
      place: toQueryPlace(group[0]),
      evidence: { count: group.length, time: sumOfTimes(group) },
    }))
  },
}

/**
 * Finds work that continued after the response was sent, because its promise was not awaited, or
 * that began for a client who had left.
 */
export const lateWorkRule: FindingRule<Profile> = {
  name: 'late-work',
  title: 'Work after the response',
  find(profile) {
    const { late } = profile.collectors
    const { status, type } = profile.summary
    // The listener of a connection begins its work behind the head of the upgrade. With a command, its process ends.
    return late === undefined || status === 101 || type === 'command' ? [] : describeLateWork(profile, late)
  },
}

function describeLateWork(profile: Profile, { hasClientLeft: isAbout, since }: CollectorTypes['late']): RuleFinding[] {
  const hasLeft = hasClientLeft(profile)
  const hasAnswered = profile.summary.outcome === 'complete' && !hasLeft
  // Work that is under way cannot end when the client leaves. The first recorded moment after that
  // may be the beginning of work.
  const isAfter = ({ start }: { readonly start: number }) => hasAnswered || start >= since
  const calls = readCalls(profile).calls.filter(call => isLate(call, since) && isAfter(call))
  const mails = readMails(profile).mails.filter(mail => isLateMail(mail, since) && isAfter(mail))
  // The profiler itself reports an uncaught exception.
  const logs = readLogs(profile).logs.filter(({ at, channel }) => at / 1000 > since && channel !== 'profiler')
  const renders = readRenders(profile).all.filter(({ start }) => start > since)
  const queries = readQueries(profile).queries.filter(query => (query.end ?? Infinity) > since && isAfter(query))
  const kinds = [
    {
      panel: queries[0]?.kind ?? '',
      anchor: `query-${queries[0]?.index}`,
      count: queries.length,
      one: 'query',
      many: 'queries',
    },
    { panel: 'http', anchor: `call-${calls[0]?.index}`, count: calls.length, one: 'HTTP client call' },
    { panel: 'mails', anchor: `mail-${mails[0]?.index}`, count: mails.length, one: 'mail' },
    { panel: 'logger', anchor: `log-${logs[0]?.index}`, count: logs.length, one: 'log message' },
    { panel: 'templates', anchor: `render-${renders[0]?.index}`, count: renders.length, one: 'template' },
  ].filter(({ count }) => count > 0)
  const [first] = kinds
  // A message about the client that has left is no work for it.
  if (first === undefined || (!hasAnswered && first.panel === 'logger')) return []
  const ends = [
    ...[...calls, ...queries, ...mails].flatMap(({ end = since }) => end),
    ...logs.map(({ at }) => at / 1000),
  ]
  const time = Math.max(since, ...ends, ...renders.map(({ start }) => start)) - since
  const what = kinds.map(({ count, many, one }) => formatCount(count, one, many)).join(', ')
  const { isExchange } = unitOf(profile.summary)
  const ofUnit = 'continued after the end of the request'
  const afterAnswer = isExchange ? `continued after the response was ${hasAnswered ? 'sent' : 'broken off'}` : ofUnit
  const afterWhat = hasLeft ? 'began after the client had left' : afterAnswer
  return [
    {
      severity: 'warning',
      // When the client of a kernel has left is not known exactly.
      problem: `Work ${afterWhat}${isAbout || time === 0 ? '' : `, for ${formatDuration(time)}`}: ${what}.`,
      ...describePlaces([...queries, ...calls, ...mails], {}, adviceForLate(profile, hasAnswered)),
      place: { panel: first.panel, anchor: first.anchor },
      evidence: {
        ...{ queries: queries.length, calls: calls.length, mails: mails.length },
        ...{ logs: logs.length, renders: renders.length, time },
      },
    },
  ]
}

/** Only a kernel has an event after the response. */
function adviceForLate(profile: Profile, hasAnswered: boolean): string {
  if (!unitOf(profile.summary).isExchange)
    return 'Await it: work that is not awaited loses its errors, and the request counts as done before it is'
  if (!hasAnswered) return 'No client waits for it, so end it with the connection, such as by an AbortSignal'
  const later = readEventTree(profile).isOfServer
    ? ' before the response, or give it to a queue of jobs that reports its errors'
    : ', or do it in a listener of kernel.terminate'
  return `Await it${later}; work that is not awaited loses its errors, and is lost when the process stops`
}

/** Finds work that a command has not waited for: it ends with the process. */
export const pendingWorkRule: FindingRule<Profile> = {
  name: 'pending-work',
  title: 'Command ended with work pending',
  find(profile) {
    const { outcome, type } = profile.summary
    if (type !== 'command' || outcome !== 'complete') return []
    const isPending = ({ end }: { readonly end?: number | undefined }) => end === undefined
    const queries = readQueries(profile).queries.filter(isPending)
    const calls = readCalls(profile).calls.filter(isPending)
    const [call] = calls
    const kinds = [
      ...(queries.length === 0 ? [] : [formatCount(queries.length, 'query', 'queries')]),
      ...(calls.length === 0 ? [] : [formatCount(calls.length, 'HTTP client call')]),
    ]
    if (kinds.length === 0) return []
    return [
      {
        severity: 'warning',
        problem: `The command ended before ${kinds.join(' and ')} had ended: what they do is not known.`,
        ...describePlaces([...queries, ...calls], {}, 'Await them before the program exits'),
        place: queries[0] === undefined ? { panel: 'http', anchor: `call-${call?.index}` } : toQueryPlace(queries[0]),
        evidence: { queries: queries.length, calls: calls.length },
      },
    ]
  },
}

/** Work that may have failed. */
type Work = Pick<StoredQuery, 'caller' | 'end' | 'error' | 'index'> & { readonly code?: string | undefined }

/**
 * Finds queries whose error was caught and not reported. A write that a constraint of the database
 * refuses, and a command that a client library repeats in another form, are expected to fail.
 */
export const failedQueryRule: FindingRule<Profile> = {
  name: 'failed-query',
  title: 'Query failed',
  find(profile) {
    return groupFailures(findSwallowed(profile, findUnexpected(profile)), ({ text }) => text).map(
      ([first, ...others]) => ({
        ...describe([first, ...others], '{statement}', { statement: shortenStatement(first.text) }),
        place: toQueryPlace(first),
      }),
    )
  },
}

/** Finds HTTP client calls for which a transaction waited: its connection and its locks are held meanwhile. */
export const transactionCallRule: FindingRule<Profile> = {
  name: 'transaction-call',
  title: 'HTTP client call in a transaction',
  find: profile =>
    findHeldTransactions(profile, readCalls(profile).calls).map(({ first, held, work }) => ({
      severity: 'warning',
      problem: `A transaction ran no query during ${formatCount(work.length, 'HTTP client call')} of ${formatDuration(held)}${work.length > 1 ? ' in total' : ''}: {call}${work.length > 1 ? ' and others' : ''}.`,
      ...describePlaces(
        work,
        { call: shorten(`${first.method} ${first.url}`, textLength) },
        'If it waits for this, call before BEGIN or after COMMIT: meanwhile it holds its locks and a connection of the pool',
      ),
      place: { panel: 'http', anchor: `call-${first.index}` },
      evidence: { count: work.length, time: held },
    })),
  measure: {
    unit: 'HTTP client calls',
    read: (_, profile) => countHeld(profile, readCalls(profile).calls),
  },
}

/** Finds mails that were sent while a transaction waited for them: a rollback does not take them back. */
export const transactionMailRule: FindingRule<Profile> = {
  name: 'transaction-mail',
  title: 'Mail in a transaction',
  find: profile =>
    findHeldTransactions(profile, readMails(profile).mails).map(({ first, held, work }) => ({
      severity: 'warning',
      problem: `A transaction ran no query while ${formatCount(work.length, 'mail')} ${work.length > 1 ? 'were' : 'was'} sent in ${formatDuration(held)}: {mail}${work.length > 1 ? ' and others' : ''}.`,
      ...describePlaces(
        work,
        { mail: nameOfMail(first) },
        'Send it after COMMIT, or write it to an outbox in the transaction: a rollback does not take a mail back, and meanwhile locks and a connection of the pool are held',
      ),
      place: { panel: 'mails', anchor: `mail-${first.index}` },
      evidence: { count: work.length, time: held },
    })),
  measure: { unit: 'mails', read: (_, profile) => countHeld(profile, readMails(profile).mails) },
}

/** Work that a transaction may wait for. */
type HeldWork = Pick<StoredCall, 'caller' | 'end' | 'index' | 'start' | 'stopped'>

function countHeld(profile: Profile, work: readonly HeldWork[]): number {
  return findHeldTransactions(profile, work).reduce((sum, { work }) => sum + work.length, 0)
}

/**
 * The transactions that waited for work. Between two queries of a transaction its connection was
 * idle: if the work was in progress for most of this time, and began and ended in it, it waited
 * for it. Other branches of the request are seldom so exact.
 */
function findHeldTransactions<work extends HeldWork>(profile: Profile, work: readonly work[]) {
  const transactions = groupBy(readQueries(profile).database.queries, ({ transaction }) => transaction)
  transactions.delete(undefined)
  const ended = work.filter(({ end }) => end !== undefined)
  return [...transactions.values()].flatMap(queries => {
    const gaps = queries.slice(1).map((query, at) => ({ start: queries[at]?.end ?? Infinity, end: query.start }))
    const held = gaps.flatMap(({ end: until, start: from }) => {
      const inside = ended.filter(({ end = Infinity, start }) => start >= from && end <= until)
      const gap = { start: from, end: until }
      return sumOfTimes(inside) * 2 > workTime({ ...gap, stopped: stoppedTime(gap, readStops(profile)) }) ? inside : []
    })
    const [first] = held
    return first === undefined ? [] : [{ work: held, first, held: sumOfTimes(held) }]
  })
}

/**
 * Limit of `idle-transaction`: ms without a query, a call, a mail or a block of the event loop. As
 * long as users notice.
 */
const leastIdle = 100

/**
 * Finds transactions that waited for what is neither a query, nor a call, nor a mail: their
 * connections and their locks are held meanwhile.
 */
export const idleTransactionRule: FindingRule<Profile> = {
  name: 'idle-transaction',
  title: 'Idle in a transaction',
  find: profile =>
    findIdleTransactions(profile)
      .filter(({ idle }) => idle >= leastIdle)
      .map(({ before, idle }) => ({
        severity: 'warning',
        problem: `A transaction was open for ${formatDuration(idle)} without a query: it waited after {statement}.`,
        ...describePlaces(
          [before],
          { statement: shortenStatement(before.text) },
          'Wait before BEGIN or after COMMIT: meanwhile it holds its locks and a connection of the pool',
        ),
        place: toQueryPlace(before),
        evidence: { time: idle },
      })),
  measure: { unit: 'ms', read: (_, profile) => Math.max(0, ...findIdleTransactions(profile).map(({ idle }) => idle)) },
}

/**
 * The idle time of each transaction, and the query before the longest part of it. An omitted query
 * may be one of the transaction.
 */
function findIdleTransactions(profile: Profile): { readonly before: StoredQuery; readonly idle: number }[] {
  const { database, omitted, queries } = readQueries(profile)
  if (omitted > 0) return []
  const awaited = [...queries, ...readCalls(profile).calls, ...readMails(profile).mails]
  const work = joinPeriods([...awaited.map(periodOf), ...readStops(profile)])
  const transactions = groupBy(database.queries, ({ transaction }) => transaction)
  transactions.delete(undefined)
  return [...transactions.values()].flatMap(all => {
    const gaps = all.slice(0, -1).map((before, at) => {
      const [start, until] = [before.end ?? Infinity, all[at + 1]?.start ?? 0]
      return { before, idle: totalOf(subtractPeriods([{ start, duration: Math.max(0, until - start) }], work)) }
    })
    const longest = gaps.toSorted((one, other) => other.idle - one.idle)[0]
    const idle = gaps.reduce((sum, gap) => sum + gap.idle, 0)
    return longest === undefined ? [] : [{ before: longest.before, idle }]
  })
}

/**
 * The queries and cache calls that have failed, were not expected to, and have not succeeded
 * later. Of a failure in a transaction, ROLLBACK TO a savepoint is the answer.
 */
export function findUnexpected(profile: Profile): StoredQuery[] {
  const { queries } = readQueries(profile)
  const isRolledBack = ({ index, server, system, transaction }: StoredQuery) => {
    const next = queries.find(
      query =>
        // After a failure, PostgreSQL refuses each query until the answer.
        query.error === '' &&
        query.index > index &&
        query.transaction === transaction &&
        query.system === system &&
        query.server === server,
    )
    return next !== undefined && next.operation === 'ROLLBACK' && !endsTransaction(next)
  }
  const hasSucceeded = (failed: StoredQuery) =>
    queries.some(query => isRepeat(query, failed) && query.text === failed.text && isAnswered(query))
  return queries.filter(
    query => query.error !== '' && !isExpected(query) && !hasSucceeded(query) && !isRolledBack(query),
  )
}

/** Whether work may repeat failed work: it began after the failure. What ran at the same time is other work. */
export function isRepeat(work: Started, failed: Started): boolean {
  return work.index > failed.index && work.start >= (failed.end ?? failed.start)
}

type Started = Pick<StoredQuery, 'end' | 'index' | 'start'>

/** Constraints (SQLSTATE class 23), a lock that is not waited for, and answers to which client libraries react. */
const expectedCodes = /^(?:23\w{3}|55P03|ER_DUP_ENTRY|ER_LOCK_NOWAIT|SQLITE_CONSTRAINT\w*)$/

const expectedMessages =
  /\bconstraint failed\b|\bviolates\b.*\bconstraint\b|^duplicate entry\b|^(?:NOSCRIPT|MOVED|ASK|BUSYGROUP)\b/i

/** Commands with which a client of Redis introduces itself when it connects. An older server does not know them. */
const introductions = /^(?:CLIENT|HELLO)\b/i
const unknownCommand = /^(?:ERR unknown (?:sub)?command\b|NOPROTO\b)/i

function isExpected({ code = '', error, kind, text }: StoredQuery): boolean {
  if (kind === 'cache' && introductions.test(text) && unknownCommand.test(error)) return true
  return expectedCodes.test(code) || expectedMessages.test(error)
}

/**
 * Finds HTTP client calls without a response whose error was caught and not reported. A response with
 * an error status is a response, and a call that the application itself has aborted is no failure.
 */
export const failedCallRule: FindingRule<Profile> = {
  name: 'failed-call',
  title: 'HTTP client call failed',
  find(profile) {
    const { calls } = readCalls(profile)
    const hasSucceeded = (failed: StoredCall) =>
      calls.some(
        call => isRepeat(call, failed) && call.method === failed.method && call.url === failed.url && call.error === '',
      )
    const swallowed = findSwallowed(profile, calls).filter(call => !call.isAborted && !hasSucceeded(call))
    const nameOf = ({ method, url }: StoredCall) => shorten(`${method} ${url}`, textLength)
    return groupFailures(swallowed, nameOf).map(([first, ...others]) => ({
      ...describe([first, ...others], '{call}', { call: nameOf(first) }),
      place: { panel: 'http', anchor: `call-${first.index}` },
    }))
  },
}

/**
 * Finds mails that were not sent, and whose error was caught and not reported: the recipient waits
 * for a mail that never comes. Another attempt that succeeded is an answer to the failure.
 */
export const failedMailRule: FindingRule<Profile> = {
  name: 'failed-mail',
  title: 'Mail failed',
  find(profile) {
    const { mails } = readMails(profile)
    const keyOf = ({ subject, to }: StoredMail) => `${to.join()} ${subject}`
    const hasSucceeded = (failed: StoredMail) =>
      mails.some(mail => isRepeat(mail, failed) && keyOf(mail) === keyOf(failed) && mail.outcome.level !== 'error')
    const swallowed = findSwallowed(profile, mails).filter(mail => !hasSucceeded(mail))
    return groupFailures(swallowed, nameOfMail).map(([first, ...others]) => ({
      ...describe([first, ...others], 'The mail {mail}', { mail: nameOfMail(first) }),
      place: { panel: 'mails', anchor: `mail-${first.index}` },
    }))
  },
}

const textLength = 120

/**
 * The work that failed before the response was sent, in a request that was answered without an
 * error of the server. Work is left out if its error was thrown on, a warning or an error was
 * logged after it, or it was printed: the profile shows such a failure already.
 */
function findSwallowed<work extends Work>(profile: Profile, work: readonly work[]): work[] {
  const { duration, outcome, status } = profile.summary
  const hasAnswer = status > 0 || !unitOf(profile.summary).isExchange
  if (outcome !== 'complete' || !hasAnswer || status >= 500) return []
  const failed = work.filter(({ end = Infinity, error }) => error !== '' && end <= duration)
  if (failed.length === 0) return []
  const thrown = readExceptions(profile)
  const isAboutThrown = ({ exceptions }: StoredLog) =>
    exceptions.some(({ chain: [error] }) => thrown.some(({ message }) => message === error?.message))
  // The profiler itself logs a request that hangs.
  const reports = readLogs(profile).logs.filter(
    log => severityOf(log.level) !== 'plain' && log.channel !== 'profiler' && !isAboutThrown(log),
  )
  const isThrown = ({ code = '', error }: Work) =>
    thrown.some(exception => exception.message === error || (code !== '' && exception.code === code))
  const isReported = ({ end = 0 }: Work) => reports.some(({ at }) => at / 1000 >= end - precision)
  const { entries = [], omitted = 0 } = profile.collectors.console ?? {}
  const printed = entries.map(({ at, values }) => ({ at, text: values.flatMap(listTexts).join('\n') }))
  // What was not kept may have been the error.
  const isPrinted = (item: Work) =>
    omitted > 0 || printed.some(({ at, text }) => at / 1000 >= (item.end ?? 0) - precision && names(text, item))
  return failed.filter(item => !isThrown(item) && !isReported(item) && !isPrinted(item))
}

function listTexts({ entries = [], text }: ValueTree): string[] {
  return [text, ...entries.flatMap(({ value }) => listTexts(value))]
}

/** The only message of an error of `fetch`; that of its call is the cause. */
const messageOfFetch = 'fetch failed'

/**
 * Whether a text has the code or the message of an error: what is masked or cut in one of them may
 * be there in the other.
 */
function names(text: string, { code = '', error }: Work): boolean {
  const parts = error.split(mask).flatMap(part => part.split(/[…\n]/))
  return (
    parts.every(part => text.includes(part.trim())) ||
    (code.length > 3 && text.includes(code)) ||
    text.includes(messageOfFetch)
  )
}

/** Milliseconds: times are rounded. */
const precision = 0.01

function groupFailures<work extends Work>(failed: readonly work[], keyOf: (item: work) => string): [work, ...work[]][] {
  // A group has at least one item.
  return [...groupBy(failed, keyOf).values()] as [work, ...work[]][]
}

function describe(
  failed: readonly [Work, ...Work[]],
  work: string,
  values: Readonly<Record<string, string>>,
): Omit<RuleFinding, 'place'> {
  const [{ error }] = failed
  const often = failed.length === 1 ? '' : ` ${formatCount(failed.length, 'time')}`
  return {
    severity: 'error',
    problem: `${work} failed${often} ({error}), and the error was caught: the request went on without it.`,
    ...describePlaces(
      failed,
      { ...values, error: shorten(toOneLine(error), textLength) },
      'Log the error where it is caught, or let it be thrown',
    ),
    evidence: { count: failed.length },
  }
}
