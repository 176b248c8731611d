import { type Finding, linkToFinding, splitSentence } from '../insight/findings/finding.ts'
import { summarizeProfile } from '../insight/overview/overview.ts'
import type { Durations } from '../insight/overview/usual-time.ts'
import type { ShownProfile } from '../insight/relatives.ts'
import { describeTimes } from '../insight/since-edit/since-edit.ts'
import { formatCount, formatDuration, formatMicroseconds, formatPlace, formatShare } from '../profile/format.ts'
import { formatMoment } from '../profile/format-value.ts'
import { type Section, toList, toSpan } from './markdown-text.ts'

/** Where the time went, and the usual time of the request. */
export const overviewSection: Section = {
  panel: 'overview',
  write(subject, limit) {
    const { parts, usual } = summarizeProfile(subject)
    const { before, since, start } = usual
    const whole = subject.profile.summary.duration * 1000
    const times = [
      ...(usual.count === 0 ? [] : [`Usual: ${describe(usual)}`]),
      ...(start === undefined ? [] : [`The process started at ${formatMoment(start)}`]),
      ...(before === undefined ? [] : [`Before the start: ${describe(before)}`]),
      ...(since === undefined ? [] : [`Since the start: ${describe(since)}`]),
    ]
    return [
      '## Overview',
      toList(
        parts,
        limit,
        ({ label, time }) => `${toSpan(label)} ${formatMicroseconds(time)}, ${formatShare(time, whole)}`,
      ),
      times.map(line => `- ${line}`).join('\n'),
      ...writeSinceEdit(subject),
    ].filter(block => block !== '')
  },
}

/** What has changed since the last edit of files. */
function writeSinceEdit({ sinceEdit }: ShownProfile): string[] {
  if (sinceEdit === undefined) return []
  const { before, changes, files, isSameUrl, time, times } = sinceEdit
  const lines = [
    `Edited: ${files.map(toSpan).join(', ')}, at ${formatMoment(time)}`,
    `Compared with ${toSpan(before.token)}, the last request of the same ${isSameUrl ? 'URL' : 'route'} before`,
    ...[describeTimes(times), ...changes].map(
      ({ before, name, now, text }) => `${toSpan(name)} ${toSpan(before)} → ${toSpan(now)}: ${toSpan(text)}`,
    ),
  ]
  return ['### Since your edit', lines.map(line => `- ${line}`).join('\n')]
}

function describe({ count, median, p95 }: Durations): string {
  return `median ${formatDuration(median)}, 95 % within ${formatDuration(p95)}, ${formatCount(count, 'earlier request')}`
}

/** The findings, with advice. */
export const findingsSection: Section = {
  panel: 'findings',
  nothing: 'No issues found.',
  write({ findings, profile: { summary } }, limit) {
    if (findings.length === 0) return []
    return ['## Findings', toList(findings, limit, finding => writeFinding(finding, summary.token))]
  },
}

/** Writes a finding on one line; `token` is that of its profile. */
export function writeFinding(finding: Finding, token: string): string {
  const { code, rule, severity } = finding
  const sentences = writeSentences(finding)
  const place = formatPlace(code ?? {})
  const at = sentences.includes(place) ? '' : ` At ${toSpan(place)}.`
  return `${severity}, ${toSpan(rule)}: ${sentences}${at} See ${toSpan(linkToFinding(finding, token))}`
}

/** Writes the problem and the advice of a finding. Recorded values are code spans. */
export function writeSentences(finding: Finding): string {
  const write = (sentence: 'problem' | 'advice') =>
    splitSentence(sentence, finding)
      .map(({ isValue, text }) => (isValue ? toSpan(text) : text))
      .join('')
  return `${write('problem')} ${write('advice')}`
}
