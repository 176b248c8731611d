import type { FormData } from '../../../../lib/body/form-data.ts'
import { Headers } from '../../../../lib/http/headers.ts'
import type { Request } from '../../../../lib/http/request.ts'
import { Response } from '../../../../lib/http/response.ts'
import { readProperty } from '../../../../lib/text/describe-value.ts'
import { addCalled } from '../../insight/called.ts'
import { type FixVerdict, listFlaws, verifyFlaws, writeProof } from '../../insight/compare/judge-fix.ts'
import {
  createRepeating,
  findReplayObstacle,
  hostOf,
  type PossibleReplay,
  planReplay,
  type ReplayInput,
} from '../../insight/replay/replay.ts'
import { toSummaryView } from '../../insight/summary-view.ts'
import { compareLink, profileLink, replayLink } from '../../profile/links.ts'
import { type ProfilerApplication, protect, redirect, renderPage } from '../page.ts'
import { type ListServices, renderMissing } from './list-page.ts'

type ReplayServices = ListServices & Pick<ProfilerApplication, 'profiler' | 'replayer'>

/**
 * Renders the form before a replay: it asks for masked values, and for a confirmation if the
 * replay may change something.
 */
export async function renderReplay(
  token: string,
  request: Request,
  app: ReplayServices,
  problem = '',
): Promise<Response> {
  const found = await app.storage.find(token)
  if (found === undefined) return renderMissing(token, request, app)
  const { profile } = found
  const plan = planReplay(profile)
  const summary = toSummaryView(profile.summary)
  const model = {
    title: `Replay ${summary.method} ${summary.target}`,
    summary,
    problem,
    link: replayLink(token),
    reason: plan.isPossible ? '' : plan.reason,
    parentLink: plan.isPossible || plan.parent === '' ? '' : profileLink(plan.parent),
    address: plan.isPossible && plan.address,
    caution: plan.isPossible ? plan.caution : '',
    notes: plan.isPossible ? plan.notes : [],
    form: plan.isPossible && createReplayForm(plan, request),
  }
  return renderPage('profiler/replay', model, request, app, problem === '' ? 200 : 422)
}

/**
 * Replays the request of a profile, with the values of the form. Redirects to the comparison, or
 * to the form if it has to be confirmed first. The values are not stored.
 */
export async function replay(token: string, request: Request, app: ReplayServices): Promise<Response> {
  const { profiler, replayer, storage } = app
  await profiler.whenStored(token)
  const found = await storage.find(token)
  if (found === undefined) return renderMissing(token, request, app)
  const plan = planReplay(found.profile)
  if (!plan.isPossible) return redirect(replayLink(token), 303)
  const form = await request.formData()
  if (plan.caution !== '' && form.get(fields.consent) !== '1') return redirect(replayLink(token), 303)
  const input = readReplayForm(form, plan, request)
  const mistake = findMistake(input)
  if (mistake !== '') return renderReplay(token, request, app, mistake)
  const result = await replayer.replay(plan, input)
  if ('token' in result) return redirect(compareLink(token, result.token), 303)
  const model = { title: 'The replay cannot be displayed', lead: result.problem }
  return renderPage('profiler/compare-none', model, request, app, 504)
}

/** The fields of the form. Their names contain `secret`, so that no log and no profile contains the values. */
const fields = {
  header: 'secret-header-',
  ownCookies: 'own-cookies',
  target: 'secret-target',
  body: 'secret-body',
  consent: 'confirmed',
}

/** Credentials that can be added, even if the original had none. */
const usual: readonly string[] = ['cookie', 'authorization']

const longestBox = 16

/**
 * Creates the form of a replay: the fields for what was masked or not stored, and the field that confirms the caution.
 */
function createReplayForm(plan: PossibleReplay, request: Request) {
  const { body, isTargetMasked, secrets, target } = plan
  const hadCookies = secrets.some(({ name }) => name === 'cookie')
  const more = usual.filter(name => !secrets.some(secret => secret.name === name)).map(name => ({ name, hint: '' }))
  const isKnown = body.state === 'none' || body.state === 'whole'
  return {
    headers: [...secrets, ...more].map(({ hint, name }) => ({ field: fields.header + name, name, hint })),
    // The cookies of the developer's browser can take the place of those that were not stored.
    ownCookies: takesOwnValues(plan, request) && hadCookies && request.headers.has('cookie') && fields.ownCookies,
    target: isTargetMasked && { field: fields.target, value: target },
    body: !isKnown && {
      field: fields.body,
      value: body.content,
      note: body.note,
      rows: Math.min(longestBox, body.content.split('\n').length + 3),
    },
    consent: fields.consent,
  }
}

/**
 * Whether the replay may get the cookies and credentials of the developer's browser: it would send them with the
 * replayed request, too. A client that may not see debug output is another one. Browsers send cookies to all ports
 * of a host name, and to no other name: the replay goes to the address at which the browser has found this name.
 */
function takesOwnValues({ address, headers, isDebugAllowed }: PossibleReplay, request: Request): boolean {
  if (!isDebugAllowed || address === undefined) return isDebugAllowed
  const host = headers.find(([name]) => name.toLowerCase() === 'host')?.[1] ?? ''
  const isFound = toIp(hostOf(address)) === toIp(request.connection?.localAddress ?? '')
  return isFound && host.replace(/:\d+$/, '') === request.hostname
}

/** Both addresses of `localhost` are the same one here. */
function toIp(address: string): string {
  return address === '::1' ? '127.0.0.1' : address.replace(/^::ffff:(?=\d)/, '')
}

/** Reads the values of the form; an empty field has no value. */
function readReplayForm(form: FormData, plan: PossibleReplay, request: Request): ReplayInput {
  const read = (field: string) => {
    const value = form.get(field)
    return typeof value === 'string' ? value.trim() : ''
  }
  const { body, headers, ownCookies } = createReplayForm(plan, request)
  const supplied = headers.map(({ field, name }) => [name, read(field)] as const).filter(([, value]) => value !== '')
  const cookie = request.headers.get('cookie')
  // The route accepts a POST of this origin only. The cookies are those that the browser sends with it.
  const own = ownCookies && form.get(ownCookies) === '1' && cookie !== null ? [['cookie', cookie] as const] : []
  const target = read(fields.target)
  const content = form.get(fields.body)
  return {
    headers: new Map([...own, ...supplied]),
    ...(plan.isTargetMasked && target.startsWith('/') && { target }),
    ...(body && typeof content === 'string' && { body: withLineBreaks(content, body.value) }),
  }
}

/** Why the values cannot be sent, as a sentence that does not repeat them; empty when they can. */
function findMistake({ headers }: ReplayInput): string {
  try {
    new Headers(headers)
    return ''
  } catch (error) {
    return String(readProperty(error, 'message'))
  }
}

/** Browsers send CRLF for every line break (HTML, section 4.10.21.4); an unchanged body keeps its line breaks. */
function withLineBreaks(content: string, planned: string): string {
  const toLines = (text: string) => text.replace(/\r\n?/g, '\n')
  if (toLines(content) === toLines(planned)) return planned
  return planned.includes('\r\n') ? toLines(content).replaceAll('\n', '\r\n') : toLines(content)
}

type VerifyServices = Pick<ProfilerApplication, 'inspector' | 'profiler' | 'replayer' | 'storage'>

/**
 * Replays the request of a profile if that is safe, and answers whether the flaw of the form is
 * gone. Cookies and credentials that were not stored are those of this request.
 */
export async function verifyFix(token: string, request: Request, app: VerifyServices): Promise<Response> {
  const { profiler, storage } = app
  await profiler.whenStored(token)
  const found = await storage.find(token)
  if (found === undefined) return respond('unsure', 'The profile was deleted.', [], 404)
  const [original] = await addCalled([found.profile], storage)
  const inspector = await app.inspector()
  const id = (await request.formData()).get('flaw')
  const flaw = listFlaws(original, inspector.inspect(original)).find(flaw => flaw.id === id)
  if (flaw === undefined) return respond('unsure', 'The profile has no such finding.', [], 404)
  const plan = planReplay(original)
  if (!plan.isPossible) return respond('unsure', `Could not be replayed: ${plan.reason}`)
  const form = { text: 'Replay', link: replayLink(token) }
  const obstacle = findReplayObstacle(plan)
  if (obstacle !== '') return respond('unsure', `Not replayed: ${obstacle}`, [form])

  const secrets = takesOwnValues(plan, request) ? plan.secrets : []
  const own = secrets.flatMap(({ name }): [string, string][] => {
    const value = request.headers.get(name)
    return value === null ? [] : [[name, value]]
  })
  const input = { headers: new Map(own) }
  const result = await verifyFlaws(original, [flaw], inspector, createRepeating(plan, input, app))
  if ('problem' in result) return respond('unsure', result.problem, [form])
  const replay = result.replays[0].summary.token
  // One flaw has one verdict.
  const { state, text } = result.verdicts[0] as FixVerdict
  const links = [
    { text: 'New profile', link: profileLink(replay) },
    { text: 'Compare', link: compareLink(token, replay) },
  ]
  return respond(state, text, links, 200, writeProof(flaw, original, result.replays, inspector))
}

/**
 * Answers a page that verifies a fix; `links` lead to the replay, or to the form that asks before
 * it. `proof` is a line for each replay.
 */
function respond(
  state: FixVerdict['state'],
  text: string,
  links: readonly { readonly text: string; readonly link: string }[] = [],
  status = 200,
  proof = '',
): Response {
  return protect(Response.json({ state, text, links, proof }, { status }))
}
