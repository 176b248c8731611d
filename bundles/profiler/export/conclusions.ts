import { type Finding, linkToFinding, splitSentence } from '../insight/findings/finding.ts'
import { planReplay } from '../insight/replay/replay.ts'
import { readExceptions, type StoredException } from '../profile/exceptions.ts'
import { capitalize, formatDuration, formatPlace } from '../profile/format.ts'
import type { Profile } from '../profile/profile.ts'
import { nameOfUnit, unitOf } from '../profile/units.ts'
import { hasConsole } from '../record/recording-policy.ts'
import { toSpan } from './markdown-text.ts'

/** Writes a finding on one line; `token` is that of its profile. */
export function writeFinding(finding: Finding, token: string): string {
  const { code, rule, severity } = finding
  const sentences = writeSentences(finding)
  const place = formatPlace(code ?? {})
  const at = sentences.includes(place) ? '' : ` At ${toSpan(place)}.`
  return `${severity}, ${toSpan(rule)}: ${sentences}${at} See ${toSpan(linkToFinding(finding, token))}`
}

/** Writes the problem and the advice of a finding. Recorded values are code spans. */
function writeSentences(finding: Finding): string {
  const write = (sentence: 'problem' | 'advice') =>
    splitSentence(sentence, finding)
      .map(({ isValue, text }) => (isValue ? toSpan(text) : text))
      .join('')
  return `${write('problem')} ${write('advice')}`
}

/** Writes a question for a coding agent about a finding, as Markdown. */
export function writeFindingPrompt(finding: Finding, profile: Profile): string {
  const { code, rule, title } = finding
  const { summary } = profile
  return write([
    `Find the cause of this finding in the code, and correct it: ${title}.`,
    writeSentences(finding),
    [
      `${writeUnit(profile)}, ${formatDuration(summary.duration)}`,
      ...(code === undefined ? [] : [`- Place: ${toSpan(formatPlace(code))}`]),
      ...writeTools(profile, summary.token, rule),
    ].join('\n'),
  ])
}

/**
 * Writes a question for a coding agent about the exception of a request, as Markdown. `token` is
 * that of the stored profile with the request; empty if none will be stored.
 */
export function writeErrorPrompt(profile: Profile, token: string): string {
  const { status } = profile.summary
  const exceptions = readExceptions(profile)
  const response = status === 0 ? '' : `, response ${status}`
  return write([
    'Find the cause of this error in the code, and correct it:',
    exceptions.slice(0, exceptionLimit).map(writeException).join('\n'),
    [`${writeUnit(profile)}${response}`, ...writeTools(profile, token, 'exception')].join('\n'),
  ])
}

function writeUnit({ summary }: Profile): string {
  return `- ${capitalize(unitOf(summary).noun)}: ${toSpan(nameOfUnit(summary))}`
}

const exceptionLimit = 5

function writeException({ frames, message, name, relation }: StoredException): string {
  const own = frames.find(({ origin }) => origin === 'application')
  const error = toSpan(message === '' ? name : `${name}: ${message}`)
  return `- ${relation === '' ? '' : `${relation}: `}${error}${own === undefined ? '' : ` at ${toSpan(formatPlace(own))}`}`
}

/** The commands and the tools of MCP that show the profile, and that verify a fix. */
function writeTools(profile: Profile, token: string, flaw: string): string[] {
  if (token === '') return []
  const canVerify = token === profile.summary.token && planReplay(profile).isPossible
  const write = (command: string, tool: string) =>
    [...(hasConsole(profile) ? [toSpan(`bin/console ${command}`)] : []), `the MCP tool ${toSpan(tool)}`].join(', or ')
  return [
    `- Everything recorded: ${write(`profiler:show ${token}`, 'read_profile')}`,
    ...(canVerify
      ? [`- After the change: ${write(`profiler:verify ${token} --finding ${flaw}`, 'verify_request')}`]
      : []),
  ]
}

function write(parts: readonly string[]): string {
  return `${parts.join('\n\n')}\n`
}
