#!/usr/bin/env node
// run-cases.mjs BASE_URL [--cases FILE] [--differs FILE] [--config dev|prod] [--probe] [--only PREFIX]
// Replays the recorded cases against a running server and prints what differs; exit 1 when any does.
// differs.json lists the cases that differ on purpose: {id, decision, expect}. They must have that result, and not the recorded one.
// A case: {id, config, requiresRoute?, setup?:[{request, capture:{T:'x-debug-token'}}], request, expect}.
// Header expectations: {exact} | {regex} | {absent:true} | {urlencoded: text} (RFC 3986 percent-encoding of the text).
// {base_url} and captured names are replaced everywhere. A body text may stand in the raw body or in its tag-stripped text.
import fs from 'node:fs'
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'

const args = process.argv.slice(2)
const option = (name, fallback) => (args.includes(`--${name}`) ? args[args.indexOf(`--${name}`) + 1] : fallback)
const base = new URL(args[0])
const file = option('cases', new URL('./cases.json', import.meta.url))
const differs = option('differs', new URL('./differs.json', import.meta.url))
const config = option('config', 'dev')
const withProbes = args.includes('--probe')
const only = option('only', '')

const encode = text =>
  encodeURIComponent(text.toWellFormed?.() ?? text).replace(
    /[!'()*]/g,
    c => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  )
const escapeRegExp = text => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
const decodeEntities = text =>
  text
    .replace(/&#x([0-9a-f]+);/gi, (_, hex) => String.fromCodePoint(Number.parseInt(hex, 16)))
    .replace(/&#(\d+);/g, (_, dec) => String.fromCodePoint(Number(dec)))
    .replace(
      /&(quot|apos|lt|gt|nbsp|amp);/g,
      (_, name) => ({ quot: '"', apos: "'", lt: '<', gt: '>', nbsp: ' ', amp: '&' })[name],
    )

function send({ method, path, headers = {}, body }) {
  return new Promise((resolve, reject) => {
    const request = http.request(
      { host: base.hostname, port: base.port, method, path, headers, agent: false },
      response => {
        const chunks = []
        response.on('data', chunk => chunks.push(chunk))
        response.on('end', () =>
          resolve({ status: response.statusCode, headers: response.headers, body: Buffer.concat(chunks).toString() }),
        )
        response.on('error', reject)
      },
    )
    request.on('error', reject)
    request.end(body ?? undefined)
  })
}

/** Compares a response with an expectation; `fill` replaces the names of captured values. Returns a list of problems. */
function compare({ body, headers, status }, expect, fill) {
  const problems = []
  if (status !== expect.status) problems.push(`status ${status}, expected ${expect.status}`)
  for (const [name, wanted] of Object.entries(expect.headers)) {
    const got = Array.isArray(headers[name]) ? headers[name][0] : headers[name]
    if (wanted.absent) {
      if (got !== undefined) problems.push(`${name} is present: ${got}`)
    } else if (got === undefined) problems.push(`${name} is missing`)
    else if (wanted.exact !== undefined && got !== fill(wanted.exact))
      problems.push(`${name}: ${got}, expected ${fill(wanted.exact)}`)
    else if (wanted.urlencoded !== undefined && got !== encode(fill(wanted.urlencoded)))
      problems.push(`${name}: ${got}, expected ${encode(fill(wanted.urlencoded))}`)
    else if (wanted.regex !== undefined && !new RegExp(fill(wanted.regex, escapeRegExp)).test(got))
      problems.push(`${name}: ${got} does not match ${wanted.regex}`)
  }
  const text = decodeEntities(body.replace(/<[^>]+>/g, '')).replace(/\s+/g, ' ')
  for (const part of expect.bodyContains ?? []) {
    if (!body.includes(fill(part)) && !text.includes(fill(part)))
      problems.push(`body lacks ${JSON.stringify(fill(part))}`)
  }
  for (const part of expect.bodyNotContains ?? []) {
    if (body.includes(fill(part))) problems.push(`body has ${JSON.stringify(fill(part))}`)
  }
  return problems
}

const others = new Map(JSON.parse(fs.readFileSync(differs, 'utf8')).map(({ expect, id }) => [id, expect]))
let run = 0
let failing = 0
for (const test of JSON.parse(fs.readFileSync(file, 'utf8'))) {
  if (test.config !== config || (test.requiresRoute && !withProbes) || !test.id.startsWith(only)) continue
  run++
  const known = { base_url: base.origin }
  const fill = (text, wrap = value => value) =>
    text.replace(/\{(base_url|T|S)\}/g, (all, name) => (name in known ? wrap(known[name]) : all))
  const problems = []
  try {
    for (const step of test.setup ?? []) {
      const answer = await send({ ...step.request, path: fill(step.request.path) })
      for (const [name, header] of Object.entries(step.capture)) known[name] = String(answer.headers[header] ?? '')
      await sleep(20)
    }
    const answer = await send({ ...test.request, path: fill(test.request.path) })
    const other = others.get(test.id)
    problems.push(...compare(answer, other ?? test.expect, fill))
    if (other !== undefined && compare(answer, test.expect, fill).length === 0)
      problems.push('listed as different, but it is as recorded')
  } catch (error) {
    problems.push(String(error))
  }
  if (problems.length > 0) {
    failing++
    console.log(`${test.id}: ${problems.join('; ')}`)
  }
}
console.log(`${run - failing} passed, ${failing} failed`)
process.exitCode = failing > 0 ? 1 : 0
