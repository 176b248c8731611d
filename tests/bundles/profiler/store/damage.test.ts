import assert from 'node:assert'
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  appendFileSync,
  chmodSync,
  chownSync,
  copyFileSync,
  linkSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  statSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import path from 'node:path'
import fc from 'fast-check'
import { type Test, t } from 'tap'
import { parseProfile, parseSummary } from '#bundles/profiler/profile/parse-profile.ts'
import { type FileSystem, nodeFileSystem, readLines, type Span } from '#bundles/profiler/store/file-system.ts'
import { createRecord, createRecords, createSummary, facts, tokenOf, tokensOf } from '#tests/support/create-profile.ts'
import { abandon, createDirectory, createFileStorage, listFiles } from './file-storage.ts'

/** Five profiles of a process that has ended, and their two files. */
async function leaveSegment(t: Test, records = createRecords(5)) {
  const { storage, directory } = createFileStorage(t)
  for (const record of records) storage.append(record, facts)
  await storage.close()
  abandon(directory)
  const [data = '', index = ''] = [...listFiles(directory, '.jsonl'), ...listFiles(directory, '.index')]
  return { directory, data, index }
}

/** The profiles that a new process finds, oldest first: in the list, and one by one. */
async function findAll(t: Test, directory: string, fileSystem = nodeFileSystem) {
  const { storage } = createFileStorage(t, { directory, fileSystem })
  const { summaries } = await storage.search({ limit: 1000 })
  const listed = summaries.toReversed()
  const readable: string[] = []
  for (const { token } of listed) {
    const found = await storage.find(token)
    if (found === undefined) continue
    t.equal(found.profile.summary.token, token)
    t.strictSame(found.profile.processData, JSON.parse(facts))
    readable.push(token)
  }
  await storage.close()
  return { listed, tokens: tokensOf({ summaries: listed }), readable }
}

const all = [0, 1, 2, 3, 4].map(tokenOf)

/** A test for each change of an index; lines that are missing in it are read from the segment. */
function testIndexes(claim: string, changes: Readonly<Record<string, (index: string) => void>>): void {
  for (const [name, change] of Object.entries(changes)) {
    t.test(`${name}: ${claim}`, async t => {
      const { directory, index } = await leaveSegment(t)
      change(index)
      const { readable, tokens } = await findAll(t, directory)
      t.strictSame(tokens, all)
      t.strictSame(readable, all)
    })
  }
}

/** Changes the text of a file; as Latin-1, so that other bytes do not change. */
function change(file: string, replace: (text: string) => string): void {
  writeFileSync(file, replace(readFileSync(file, 'latin1')), 'latin1')
}

const changeLines = (replace: (line: string, number: number) => string) => (file: string) =>
  change(file, text =>
    text
      .split('\n')
      .map((line, number) => (line === '' ? '' : replace(line, number)))
      .join('\n'),
  )

testIndexes('an index that is damaged is made again from its segment', {
  'ix-missing': unlinkSync,
  'ix-empty': index => truncateSync(index, 0),
  'ix-torn-last': index => truncateSync(index, statSync(index).size - 100),
  'ix-torn-middle': changeLines((line, number) => (number === 2 ? `${line.slice(0, 90)}${'x'.repeat(20)}` : line)),
  'ix-torn-first': changeLines((line, number) => (number === 0 ? line.slice(9) : line)),
  'ix-nul-run': changeLines((line, number) => (number === 2 ? `\0`.repeat(4096) + line : line)),
  'ix-binary': index => writeFileSync(index, randomBytes(1024 * 1024)),
  'ix-few-columns': changeLines((line, number) => (number === 3 ? '{"kept":1,"record":[1,2],"facts":[3]}' : line)),
  'ix-quotes-open': changeLines((line, number) => (number === 1 ? line.slice(0, -4) : line)),
  'ix-token-traversal': changeLines(line => line.replace('000002', '../../../../etc/passwd')),
  'ix-token-html': changeLines(line => line.replace('000002', '\\"><script>')),
  'ix-time-negative': changeLines((line, number) =>
    line.replace(/"time":\d+/, `"time":${['-1', 'NaN', '1e309', '"1"', 'null'][number]}`),
  ),
  'a time to keep that is none': changeLines((line, number) =>
    line.replace(/"kept":\d+/, `"kept":${['-1', '1.5', '1e309', '"1"', 'null'][number]}`),
  ),
  'a place that is none': changeLines((line, number) =>
    line.replace(/"record":\[.*?\]/, `"record":${['[-1,5]', '[0,1e300]', '[]', '5', '[0,"9"]'][number]}`),
  ),
  'another place of a record': changeLines((line, number) =>
    number < 4 ? line : line.replace(/"record":\[.*?\]/, '"record":[0,5]'),
  ),
})

testIndexes('an index that was changed harmlessly is read', {
  'ix-crlf': index => change(index, text => text.replaceAll('\n', '\r\n')),
  'ix-bom': index => change(index, text => `\xef\xbb\xbf${text}`),
  'ix-extra-columns': changeLines(line => line.replace('"ip"', '"__proto__":{"a":1},"more":[1,2,3],"ip"')),
  'a writer that is none': changeLines(line => line.replace('"summary"', '"writer":"../other","summary"')),
  'empty lines': index => change(index, text => text.replaceAll('\n', '\n\n')),
})

t.test('ix-bad-utf8: invalid UTF-8 is shown as U+FFFD', async t => {
  const { directory, index } = await leaveSegment(t)
  change(index, text => text.replace('localhost', 'local\xff\xfehost'))
  const { listed, readable } = await findAll(t, directory)
  t.equal(listed[0]?.url, 'http://local\ufffd\ufffdhost:8000/somewhere?q=1')
  t.strictSame(readable, all)
})

t.test('ix-url-html, ix-url-js, ix-url-formula: any URL is only text', async t => {
  const urls = ['<script>alert(1)</script>', 'javascript:alert(1)', '=cmd|x', 'a\nb', '\u2028"']
  const { directory } = await leaveSegment(
    t,
    urls.map((url, index) => createRecord({ token: tokenOf(index), url })),
  )
  const { listed, readable } = await findAll(t, directory)
  t.strictSame(
    listed.map(({ url }) => url),
    urls,
  )
  t.strictSame(readable, all)
})

t.test('ix-time-future: a profile of the year 9999 is listed, and removes no other profile', async t => {
  const { directory, index } = await leaveSegment(t)
  const future = Date.UTC(9999, 0)
  changeLines((line, number) =>
    number === 2 ? line.replace(/"kept":\d+/, `"kept":${future}`).replace(/"time":\d+/, `"time":${future}`) : line,
  )(index)
  const { storage } = createFileStorage(t, { directory })
  storage.append(createRecord({ token: '00000a' }), facts)
  await storage.flush()
  const { summaries } = await storage.search({ limit: 10 })
  t.strictSame(tokensOf({ summaries }).sort(), [...all, '00000a'])
  t.equal(summaries.find(({ token }) => token === tokenOf(2))?.time, future)
})

t.test('ix-dup-token: a repeated line is one row, and the last version of a profile counts', async t => {
  const repeated = await leaveSegment(t)
  change(repeated.index, text => text.repeat(3))
  t.strictSame((await findAll(t, repeated.directory)).tokens, all)

  const { directory, data, index } = await leaveSegment(t)
  const line = createRecord({ token: tokenOf(1), status: 500 }).text
  const { size } = statSync(data)
  appendFileSync(data, `${line}\n`)
  for (const isIndexed of [false, true]) {
    if (isIndexed) {
      const summary = JSON.stringify(createSummary({ token: tokenOf(1), status: 500 }))
      const place = `"record":[${size},${Buffer.byteLength(line)}],"facts":[0,${facts.length + 10}]`
      appendFileSync(index, `{"kept":1700000000000,${place},"summary":${summary}}\n`)
    }
    const { listed, readable } = await findAll(t, directory)
    t.strictSame(
      listed.map(({ status }) => status),
      [200, 500, 200, 200, 200],
    )
    t.strictSame(readable, all)
  }
})

t.test('ix-orphan, pf-missing, pf-empty, pf-trunc-half: a line of an index without profile is not listed', async t => {
  const damages: Readonly<Record<string, readonly [damage: (data: string) => void, left: readonly string[]]>> = {
    'pf-missing': [unlinkSync, []],
    'pf-empty': [data => truncateSync(data, 0), []],
    'pf-trunc-half': [data => truncateSync(data, Math.ceil(statSync(data).size / 2)), all.slice(0, 2)],
    'cut by one byte': [data => truncateSync(data, statSync(data).size - 1), all],
    'cut by two bytes': [data => truncateSync(data, statSync(data).size - 2), all.slice(0, 4)],
  }
  for (const [name, [damage, left]] of Object.entries(damages)) {
    const { directory, data } = await leaveSegment(t)
    damage(data)
    const { readable, tokens } = await findAll(t, directory)
    t.strictSame(tokens, left, name)
    t.strictSame(readable, left, name)
  }
})

t.test('pf-other-token: a profile that was removed after it was listed is not found', async t => {
  const { directory, data } = await leaveSegment(t)
  const { storage } = createFileStorage(t, { directory })
  await storage.search({ limit: 1 })
  const text = readFileSync(data, 'utf8')
  writeFileSync(data, text.replace('"token":"000001"', '"token":"00000f"'))
  t.equal(await storage.find('000001'), undefined, 'pf-other-token')
  t.equal(await storage.find('00000f'), undefined)
  truncateSync(data, 5)
  t.equal(await storage.find('000002'), undefined)
  writeFileSync(data, 'x'.repeat(text.length))
  t.equal(await storage.find('000002'), undefined)
  writeFileSync(data, text.replace('{"facts":', '{"fiction'))
  t.strictSame((await storage.find('000002'))?.profile.processData, {}, 'facts that are damaged cost only themselves')
  unlinkSync(data)
  mkdirSync(data)
  t.equal(await storage.find('000003'), undefined)
  rmdirSync(data)
  t.equal(await storage.find('000003'), undefined)
})

t.test('facts at a wrong place in the index lose only the facts', async t => {
  const places = ['[0,999999]', '[3,10]', '[0,5000000]']
  for (const place of places) {
    const { directory, index } = await leaveSegment(t)
    changeLines(line => line.replace(/"facts":\[.*?\]/, `"facts":${place}`))(index)
    const { storage } = createFileStorage(t, { directory })
    t.hasStrict(await storage.find('000002'), { profile: { summary: { token: '000002' }, processData: {} } }, place)
  }
})

t.test('lines are read as from the whole text, with pieces of any size', async _t => {
  const line = fc.array(fc.constantFrom('a', 'ä', '😀', '\r', '\0')).map(characters => characters.join(''))
  await fc.assert(
    fc.asyncProperty(
      fc.array(line),
      fc.nat(9),
      fc.integer({ min: 1, max: 30 }),
      fc.integer({ min: 1, max: 7 }),
      fc.nat(),
      async (lines, from, longest, most, missing) => {
        const bytes = Buffer.from(lines.join('\n'))
        const until = bytes.length + from
        // Like a file that was cut after its size was read.
        const there = missing % 5 === 0 ? bytes.subarray(0, missing % 11) : bytes
        const file = {
          async read(into: Buffer, offset: number, length: number, position: number) {
            return { bytesRead: there.copy(into, offset, position - from, position - from + Math.min(length, most)) }
          },
        }
        const read: [string, number, number][] = []
        const onLine = (text: string, { length, offset }: Span) => void read.push([text, offset, length])
        const end = await readLines(file, { from, until, longest, onLine })

        const expected: [string, number, number][] = []
        let offset = 0
        for (let next = there.indexOf(10); next !== -1; next = there.indexOf(10, offset)) {
          const length = next - offset
          if (length > 0 && length <= longest) expected.push([`${there.subarray(offset, next)}`, offset + from, length])
          offset = next + 1
        }
        assert.deepStrictEqual(read, expected)
        assert.strictEqual(end, offset + from)
      },
    ),
    { seed: 5, numRuns: 500 },
  )
})

t.test('ix-is-dir, ix-fifo, ix-is-symlink, ix-symlink-outside: only regular files are indexes', async t => {
  const victim = path.join(createDirectory(t), 'victim')
  const replacements: Readonly<Record<string, (index: string) => void>> = {
    'ix-is-dir': index => mkdirSync(index),
    'ix-fifo': index => t.equal(spawnSync('mkfifo', [index]).status, 0),
    'ix-is-symlink': index => symlinkSync('/dev/full', index),
    'ix-symlink-outside': index => symlinkSync(victim, index),
  }
  for (const [name, replace] of Object.entries(replacements)) {
    const { directory, index } = await leaveSegment(t)
    copyFileSync(index, victim)
    const before = readFileSync(victim, 'utf8')
    unlinkSync(index)
    replace(index)
    t.strictSame((await findAll(t, directory)).readable, all, name)
    // With very low limits the segment is removed, and the target of the link is not.
    const { storage } = createFileStorage(t, { directory, limits: { count: 20 } })
    for (const record of createRecords(50, 100)) storage.append(record, facts)
    await storage.flush()
    t.equal(readFileSync(victim, 'utf8'), before)
  }
})

t.test('pf-symlink, pf-hardlink, pf-dir: a segment that is not a regular file of the store is ignored', async t => {
  const secret = path.join(createDirectory(t), 'secret')
  writeFileSync(secret, 'root:x:0:0\n{"token":"abcdef"}\n')
  const replacements: Readonly<Record<string, (data: string) => void>> = {
    'pf-symlink': data => symlinkSync(secret, data),
    'a link to itself': data => symlinkSync(data, data),
    'pf-hardlink': data => linkSync(secret, data),
    'pf-dir': data => mkdirSync(data),
    'a pipe': data => t.equal(spawnSync('mkfifo', [data]).status, 0),
  }
  for (const [name, replace] of Object.entries(replacements)) {
    const { directory, data } = await leaveSegment(t)
    unlinkSync(data)
    replace(data)
    t.strictSame((await findAll(t, directory)).tokens, [], name)
  }
  const { directory, data } = await leaveSegment(t)
  const moved = path.join(path.dirname(secret), 'moved')
  renameSync(data, moved)
  symlinkSync(moved, data)
  t.strictSame((await findAll(t, directory)).tokens, [], 'not even of a real segment')
})

const isRoot = process.getuid?.() === 0

t.test(
  'pf-wrong-owner: a file is read if this user has it, or if the owner of its folder has it alone',
  { skip: !isRoot && 'only root can give files away' },
  async t => {
    const other = 65_534
    const owners: readonly (readonly [folder: number, files: number, mode: number, isRead: boolean])[] = [
      [0, 0, 0o600, true],
      [0, 0, 0o666, true],
      [other, 0, 0o600, true],
      [other, other, 0o600, true],
      [other, other, 0o644, true],
      [other, other, 0o606, false],
      [other, other, 0o620, false],
      [0, other, 0o600, false],
      [0, other, 0o644, false],
      [other - 1, other, 0o600, false],
    ]
    for (const [folder, owner, mode, isRead] of owners) {
      const { directory, data, index } = await leaveSegment(t)
      for (const file of [data, index]) {
        chownSync(file, owner, owner)
        chmodSync(file, mode)
      }
      chownSync(path.dirname(data), folder, folder)
      const { readable, tokens } = await findAll(t, directory)
      t.strictSame([readable, tokens], isRead ? [all, all] : [[], []], `${folder} ${owner} ${mode.toString(8)}`)
    }
  },
)

t.test('files that do not belong to the store are not changed', async t => {
  const { directory, data } = await leaveSegment(t)
  const foreign = ['README', 'x.jsonl', '.index', `${path.basename(data)}.tmp`, '0000000000000001-0-00000000.jsonl']
  for (const file of foreign) copyFileSync(data, path.join(directory, file))
  mkdirSync(path.join(directory, 'pinned'))
  writeFileSync(path.join(directory, 'pinned', 'README'), '')
  const { storage } = createFileStorage(t, { directory, limits: { count: 20 } })
  for (const record of createRecords(50, 100)) storage.append(record, facts)
  await storage.purge()
  await storage.flush()
  for (const file of foreign) t.equal(readFileSync(path.join(directory, file), 'utf8').length > 0, true, file)
  t.strictSame(listFiles(path.join(directory, 'pinned')).length, 1)
})

/** A disk that measures the longest read, and all reads together. */
function createMeter(): { fileSystem: FileSystem; read: { most: number; bytes: number } } {
  const read = { most: 0, bytes: 0 }
  const fileSystem: FileSystem = {
    ...nodeFileSystem,
    async open(...parameters) {
      const file = await nodeFileSystem.open(...parameters)
      return {
        stat: () => file.stat(),
        write: (...rest) => file.write(...rest),
        truncate: length => file.truncate(length),
        chmod: mode => file.chmod(mode),
        close: () => file.close(),
        read(bytes, offset, length, position) {
          read.most = Math.max(read.most, length)
          read.bytes += length
          return file.read(bytes, offset, length, position)
        },
      }
    },
  }
  return { fileSystem, read }
}

t.test('ix-one-huge-line, ix-many-lines, pf-huge: far too large data is not read, or not kept in memory', async t => {
  const piece = 128 * 1024
  const largestPiece = 8 * 1024 * 1024
  const long = await leaveSegment(t)
  truncateSync(long.index, 20_000_000)
  const meter = createMeter()
  t.strictSame((await findAll(t, long.directory, meter.fileSystem)).readable, all, 'a line of 20 MB')
  t.equal(meter.read.most, piece)

  const huge = await leaveSegment(t)
  truncateSync(huge.index, 200 * 1024 * 1024)
  const hugeMeter = createMeter()
  t.strictSame((await findAll(t, huge.directory, hugeMeter.fileSystem)).readable, all, 'a line of 200 MiB')
  t.ok(hugeMeter.read.bytes < 1_000_000)

  const many = await leaveSegment(t)
  change(many.index, text => text.repeat(Math.ceil((64 * 1024 * 1024) / text.length) + 1))
  const manyMeter = createMeter()
  t.strictSame((await findAll(t, many.directory, manyMeter.fileSystem)).readable, all, 'an index of 64 MiB')
  t.ok(manyMeter.read.bytes < 1_000_000)

  const segment = await leaveSegment(t)
  truncateSync(segment.data, 500 * 1024 * 1024)
  const segmentMeter = createMeter()
  t.strictSame((await findAll(t, segment.directory, segmentMeter.fileSystem)).readable, all, 'a segment of 500 MiB')
  t.ok(segmentMeter.read.bytes < 1_000_000)

  const line = await leaveSegment(t)
  appendFileSync(line.data, `{"schemaVersion":1,"summary":"${'x'.repeat(5_000_000)}"}\n`)
  appendFileSync(line.data, `${createRecord({ token: 'abcdef' }).text}\n`)
  unlinkSync(line.index)
  t.strictSame((await findAll(t, line.directory)).readable, [...all, 'abcdef'], 'a line of 5 MB costs only itself')

  const claimed = await leaveSegment(t)
  truncateSync(claimed.data, 10_000_000)
  changeLines((line, number) => (number < 4 ? line : line.replace(/"record":\[(\d+),\d+\]/, '"record":[$1,5000000]')))(
    claimed.index,
  )
  const claimedMeter = createMeter()
  t.strictSame((await findAll(t, claimed.directory, claimedMeter.fileSystem)).readable, all.slice(0, 4))
  t.ok(claimedMeter.read.most <= largestPiece, 'a profile is not as long as an index says')
})

t.test('pf-trunc-every: a truncated profile is not a profile', async t => {
  const { text } = createRecord({ token: '000001', data: { probe: 'x'.repeat(3_500) } })
  t.ok(parseProfile(text))
  let found = 0
  for (let length = 0; length < text.length; length++) if (parseProfile(text.slice(0, length)) !== undefined) found++
  t.equal(found, 0)
})

t.test('pf-bitflip: a profile with a wrong bit is read or damaged, and nothing is thrown', async t => {
  const { text } = createRecord({ token: '000001' })
  const bytes = Buffer.from(text)
  // A constant seed: the same offsets each time (a linear congruential generator).
  let random = 7
  for (let flip = 0; flip < 500; flip++) {
    random = (random * 1_103_515_245 + 12_345) % 2 ** 31
    const flipped = Buffer.from(bytes)
    const offset = random % bytes.length
    flipped[offset] = Number(flipped[offset]) ^ (1 << (flip % 8))
    const profile = parseProfile(flipped.toString())
    if (profile !== undefined) t.match(profile.summary.token, /^[0-9a-f]{6}$/)
  }
  const { directory, data } = await leaveSegment(t)
  for (let offset = 0; offset < statSync(data).size; offset += 97) {
    change(
      data,
      text => text.slice(0, offset) + String.fromCharCode(text.charCodeAt(offset) ^ 4) + text.slice(offset + 1),
    )
    const { storage } = createFileStorage(t, { directory })
    const { summaries } = await storage.search({ limit: 10 })
    for (const { token } of summaries) await storage.find(token)
    await storage.close()
  }
})

t.test('pf-not-json, -wrong-type, -missing-fields, -wrong-field-types, -old-version: a damaged profile', async t => {
  const { summary, text } = createRecord({ token: '000001', parent: '000001', children: ['000001', '000002'] })
  const profile = JSON.parse(text)
  t.hasStrict(parseProfile(text), profile)
  t.ok(parseProfile(`\ufeff${text}`))
  for (const damaged of ['', 'plain text', '5', 'null', '[]', '"x"', '{}', 'true', `[${text}]`]) {
    t.equal(parseProfile(damaged), undefined, damaged)
  }
  const wrongs: Readonly<Record<string, readonly unknown[]>> = {
    schemaVersion: [undefined, 0, 2, '1', null],
    summary: [undefined, null, 5, [], {}],
    children: [undefined, null, {}, 'x', ['nothing'], [1], [null]],
    data: [undefined, null, [], 5, 'x'],
    failures: [undefined, null, [], { probe: 5 }],
  }
  for (const [field, values] of Object.entries(wrongs)) {
    for (const value of values) t.equal(parseProfile(JSON.stringify({ ...profile, [field]: value })), undefined, field)
  }
  t.ok(parseProfile(JSON.stringify({ ...profile, data: {} })), 'sections may be missing, and are what they are')
  const wrongSummaries: Readonly<Record<string, readonly unknown[]>> = {
    token: ['', '00000g', 'ABCDEF', 5, null],
    parent: ['', 5, undefined],
    type: ['nothing', null],
    outcome: ['', 'gone', null],
    status: [-1, 1.5, '200', null],
    ip: [null, 5],
    url: [null, {}],
    route: [5, []],
    time: [-1, 8.7e15, '5', null],
    duration: [-1, '5', null, 1e300],
    memory: [-1, null],
    errors: [-1, 0.5, null],
  }
  for (const [field, values] of Object.entries(wrongSummaries)) {
    for (const value of values) t.equal(parseSummary({ ...summary, [field]: value }), undefined, `${field}: ${value}`)
  }
  t.strictSame(parseSummary({ ...summary, more: 1 }), summary)
  t.equal(parseSummary(null), undefined)
  t.equal(parseSummary([summary]), undefined)
})

t.test('pf-proto, pf-tostring, pf-tohtml, pf-html-everywhere: values are only data', async t => {
  const data =
    '{"__proto__":{"polluted":1},"constructor":{"prototype":{"x":1}},"a":{"toString":"x"},"b":{"toHTML":"<b>"}}'
  const text = createRecord({ token: '000001', url: '"><img src=x onerror=alert(1)>{{7*7}}' }).text
  const profile = parseProfile(text.replace('"data":{}', `"data":${data}`))
  t.equal(JSON.stringify(profile?.data), data)
  t.equal(profile?.summary.url, '"><img src=x onerror=alert(1)>{{7*7}}')
  t.equal(Object.hasOwn(Object.prototype, 'polluted'), false)
  t.equal(parseProfile(`{"__proto__":${text}}`), undefined)
})

t.test('pf-self-parent, pf-cycle, pf-children-10k: relations between profiles are not checked', async t => {
  const children = [...Array.from({ length: 10_000 }, (_, index) => tokenOf(index)), '000001']
  const profile = parseProfile(createRecord({ token: '000001', parent: '000001', children }).text)
  t.strictSame(profile?.children, children)
  t.equal(profile?.summary.parent, '000001')
})

t.test('pf-deep, pf-wide: too deep or too long data is damaged', async t => {
  const nest = (depth: number) =>
    createRecord({ data: { deep: JSON.parse('['.repeat(depth) + ']'.repeat(depth)) } }).text
  t.ok(parseProfile(nest(90)))
  t.equal(parseProfile(nest(100)), undefined)
  const { text } = createRecord({ token: '000001' })
  const replaced = (value: string) => text.replace('"data":{}', `"data":{"probe":${value}}`)
  t.equal(parseProfile(replaced('['.repeat(100_000) + ']'.repeat(100_000))), undefined)
  const wide = (keys: number) => replaced(`{${Array.from({ length: keys }, (_, key) => `"${key}":1`).join()}}`)
  t.ok(parseProfile(wide(10_000)))
  t.equal(parseProfile(wide(1_000_000)), undefined)
})
