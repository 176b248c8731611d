import { t } from 'tap'
import { Inspector } from '#bundles/profiler/insight/findings/inspector.ts'
import { findOccurrences, findPredecessors, findRelatives, showProfile } from '#bundles/profiler/insight/relatives.ts'
import { gatherRoute, gatherRoutes, parseRoutesRequest } from '#bundles/profiler/insight/routes.ts'
import { searchMains } from '#bundles/profiler/insight/search-list.ts'
import { viewOccurrences } from '#bundles/profiler/panels/parts.ts'
import { MemoryProfileStorage } from '#bundles/profiler/store/memory-profile-storage.ts'
import { UnitedStorage } from '#bundles/profiler/store/united-storage.ts'
import { createSearchForm } from '#bundles/profiler/web/pages/list-page.ts'
import { createRecord, type RecordInit } from '#tests/support/create-profile.ts'

/** Two programs with their profiles; the second one may begin later. */
function unite(own: readonly RecordInit[], other: readonly RecordInit[]) {
  const [first, second] = [new MemoryProfileStorage(), new MemoryProfileStorage()]
  for (const init of own) first.append(createRecord(init), '{}')
  for (const init of other) second.append(createRecord(init), '{}')
  const named = { directory: '/two/shop', names: ['worker', 'shop'] }
  const program = { ...named, id: 'aaaaaa', storage: second, armFile: '/none', replaySecret: 'secret' }
  const united = new UnitedStorage(first, () => [program], { directory: '/one/shop', names: ['shop'] })
  return { first, second, program, united }
}

const tokensOf = async (storage: UnitedStorage, query = {}) =>
  (await storage.search({ limit: 10, ...query })).summaries.map(({ token }) => token)

t.test('the profiles of programs are one list, the newest first, each profile once', async t => {
  const { program, united } = unite(
    [
      { token: '000001', time: 1, duration: 9 },
      { token: '000003', time: 3, duration: 1 },
    ],
    [
      { token: '000002', time: 2, duration: 5 },
      { token: '000003', time: 3, duration: 1 },
    ],
  )
  const sort = { field: 'duration', direction: 'descending' } as const
  t.strictSame(
    [await tokensOf(united), await tokensOf(united, { limit: 1, offset: 1 }), await tokensOf(united, { sort })],
    [['000003', '000002', '000001'], ['000002'], ['000001', '000002', '000003']],
  )
  t.equal((await united.search({ limit: 1 })).total, 3)
  t.strictSame(
    ['000001', '000002', '000003', 'abcdef'].map(token => [united.has(token), united.ownerOf(token)]),
    [
      [true, undefined],
      [true, program],
      [true, undefined],
      [false, undefined],
    ],
  )
  t.match(await united.find('000002'), { profile: { summary: { time: 2 } } })
  t.equal(await united.find('abcdef'), undefined)
  t.match(await united.usage(), { profiles: 4, dropped: 0, problem: undefined })
})

t.test('what is recorded goes to the own storage, and a change to the one that has the profile', async t => {
  const { first, second, united } = unite([{ token: '000001' }], [{ token: '000002' }])
  united.append(createRecord({ token: '000004' }), '{}')
  t.strictSame([first.has('000004'), second.has('000004')], [true, false])
  t.ok(await united.amend('000002', () => createRecord({ token: '000002', status: 500 })))
  t.match(await second.find('000002'), { profile: { summary: { status: 500 } } })
  t.ok(await united.pin('000002', true))
  t.strictSame([...(await second.pinned())], ['000002'])
  t.strictSame([...(await united.pinned())], ['000002'])
  await Promise.all([united.load(), united.flush()])
  united.flushNow()
  await united.close()
})

t.test('purge removes the profiles of this program only, whatever is shown', async t => {
  const { first, second, united } = unite(
    [{ token: '000001' }, { token: '000003', time: 3 }, { token: '000004' }],
    [{ token: '000002' }, { token: '000003', time: 3 }],
  )
  t.ok(await united.pin('000004', true))
  await united.purge()
  t.strictSame((await tokensOf(united)).sort(), ['000002', '000003', '000004'], 'a copy and a pinned one stay')
  t.strictSame([first.has('000001'), first.has('000003'), first.has('000004')], [false, false, true])
  t.strictSame([second.has('000002'), second.has('000003')], [true, true])
})

t.test('a token that two programs have leads to both: the second one has the id of its program before it', async t => {
  const { program, second, united } = unite(
    [
      { token: '000001', time: 1, url: '/own' },
      { token: '00000000000c', time: 9 },
    ],
    [
      { token: '000001', time: 2, url: '/other' },
      { token: '000002', time: 3, parent: '000001' },
      { token: '00000000000c', time: 9 },
    ],
  )
  t.strictSame(await tokensOf(united), ['00000000000c', '000002', 'aaaaaa000001', '000001'])
  t.match(await united.find('000001'), { profile: { summary: { token: '000001', url: '/own' } } })
  t.match(await united.find('aaaaaa000001'), { profile: { summary: { token: 'aaaaaa000001', url: '/other' } } })
  t.match(await united.find('000002'), { profile: { summary: { parent: 'aaaaaa000001' } } })
  t.strictSame([united.ownerOf('000001'), united.ownerOf('aaaaaa000001')], [undefined, program])
  t.ok(await united.pin('aaaaaa000001', true))
  t.strictSame([...(await second.pinned())], ['000001'])
  t.strictSame([...(await united.pinned())], ['aaaaaa000001'])
  const seen: string[] = []
  const stop = united.tail(({ token }) => seen.push(token))
  second.append(createRecord({ token: '000001', time: 2, status: 500 }), '{}')
  stop()
  t.strictSame(seen, ['aaaaaa000001'])
})

t.test('two programs with one name are distinguished wherever profiles are counted, compared or filtered', async t => {
  const errors = { fingerprint: 'feedbeef', status: 500, exception: 'Error' }
  const make = (digit: string): RecordInit[] =>
    Array.from({ length: 8 }, (_, index) => ({
      token: `${digit}0000${index}`,
      program: 'shop',
      time: index * 2 + Number(digit),
      duration: digit === '1' ? 10 : 1000,
      ...(index === 3 && errors),
    }))
  const { program, second, united } = unite(make('1'), [...make('2'), { token: '300000', program: 'worker', time: 0 }])
  const [own, other] = ['shop (one/shop)', 'shop (two/shop)']
  const { summaries } = await united.search({ limit: 100 })
  const stored = await united.find('200007')
  if (stored === undefined) throw new Error('The profile is not found.')
  const { profile } = stored
  const inspector = new Inspector([])
  const shown = await showProfile(stored, united, inspector)
  const tokensWith = (found: readonly { readonly token: string }[]) => [...new Set(found.map(({ token }) => token[0]))]

  t.strictSame([united.nameOf(), united.nameOf(program), profile.summary.program], [own, other, other])
  t.strictSame([...new Set(summaries.map(each => each.program))].sort(), [own, other, 'worker'], 'names that are alone')
  const { earlier, older, newerCount } = findRelatives(summaries, profile)
  t.strictSame([tokensWith(earlier), older?.token, newerCount], [['2'], '200006', 0], 'usual time, neighbours')
  t.strictSame(tokensWith(shown.earlier), ['2'], 'what is compared since an edit')
  t.strictSame(tokensWith(findPredecessors(summaries, profile.summary).candidates), ['2'], 'Compare')
  const failed = summaries.find(({ token }) => token === '200003')
  const occurrences = failed && findOccurrences(summaries, failed)
  t.match(occurrences, { count: 0, program: other })
  t.match(viewOccurrences(occurrences), { link: /program=shop\+%28two%2Fshop%29/ })
  const wanted = parseRoutesRequest(new URLSearchParams())
  const { found, mains } = await searchMains(united, wanted.listed)
  const report = gatherRoutes(found, wanted, { program: united.nameOf(), startedAt: 10 })
  const statistics = report.routes.map(({ count, p50, program }) => [program, count, p50])
  t.strictSame(
    statistics.sort(),
    [
      [own, 8, 10],
      [other, 8, 1000],
      ['worker', 1, 5],
    ],
    'statistics',
  )
  const compared = report.routes.filter(({ counts }) => counts.since > 0).map(({ program }) => program)
  t.strictSame(compared, [own], 'only the program that has restarted is compared with the time before')
  const details = await gatherRoute(united, inspector, { route: 'somewhere', program: other })
  t.strictSame([details?.statistics.count, tokensWith(details?.summaries ?? [])], [8, ['2']], 'the page of a route')
  const filter = { field: 'program', test: 'among', value: new Set([own]) } as const
  const filtered = await united.search({ filters: [filter], limit: 2 })
  t.strictSame([filtered.total, filtered.summaries.map(({ token }) => token)], [8, ['100007', '100006']], 'the filter')
  const [choices] = createSearchForm(parseRoutesRequest(new URLSearchParams()).listed, mains).origins
  t.strictSame(
    choices?.options.map(({ value }) => value),
    ['', own, other, 'worker'],
    'the choices of the filter',
  )
  const live: unknown[] = []
  united.tail(({ program }) => live.push(program))()
  const stop = united.tail(({ program }) => live.push(program))
  second.append(createRecord({ token: '400000', program: 'shop' }), '{}')
  stop()
  t.strictSame(live, [other], 'live lists')
})

t.test('programs of one name in storage of several machines are distinguished by their folders', async t => {
  const [one, two, app] = ['11111111/one/shop', '22222222/two/shop', '33333333/app']
  class SharedStorage extends MemoryProfileStorage {
    readonly isShared = true
  }
  const own = new SharedStorage()
  const add = (token: string, folder: string | undefined, machine: string, more: RecordInit = {}) =>
    own.append(createRecord({ token, program: 'shop', machine, ...(folder && { folder }), ...more }), '{}')
  const create = (directory: string, viewerMachine?: string) =>
    new UnitedStorage(own, undefined, { directory, names: ['shop'], ...(viewerMachine && { viewerMachine }) })
  const united = create(one)
  const namesIn = async (storage: UnitedStorage) =>
    (await storage.search({ limit: 10 })).summaries.map(({ program, token }) => `${token} ${program}`)
  const ownedIn = async (storage: UnitedStorage) =>
    (await storage.search({ limit: 10 })).summaries
      .filter(summary => storage.hasFilesOf(summary))
      .map(({ token }) => token)

  add('00000000000a', app, 'container-1')
  add('00000000000b', app, 'container-2')
  t.strictSame(await namesIn(create(app)), ['00000000000b shop', '00000000000a shop'], 'replicas are one program')
  t.strictSame(await ownedIn(create(app)), ['00000000000b', '00000000000a'])
  t.strictSame(await ownedIn(united), [], 'a program that has stored nothing has no files of others')
  t.strictSame(await ownedIn(create(one, 'host')), ['00000000000b', '00000000000a'], 'a folder that is mounted')
  t.strictSame(await ownedIn(create(one, 'container-1')), ['00000000000b'], 'another folder of this machine')

  add('000000000001', one, 'host', { time: 1, fingerprint: 'feedbeef' })
  add('000000000002', two, 'host', { time: 2, fingerprint: 'feedbeef' })
  add('000000000003', undefined, 'host', { time: 3 })
  const found = await create(two).find('000000000002')
  t.equal(found?.profile.summary.program, 'shop (two/shop)', 'before the first search')
  const names = [
    '000000000003 shop',
    '000000000002 shop (two/shop)',
    '000000000001 shop (one/shop)',
    '00000000000b shop (app)',
    '00000000000a shop (app)',
  ]
  t.strictSame([await namesIn(united), united.nameOf()], [names, 'shop (one/shop)'])
  t.strictSame([await ownedIn(united), await ownedIn(create(two))], [['000000000001'], ['000000000002']])
  t.strictSame(await ownedIn(create('44444444/other', 'host')), [], 'which of several it is, is not known')
  const filter = { field: 'program', test: 'among', value: new Set(['shop (two/shop)']) } as const
  t.strictSame(await tokensOf(united, { filters: [filter] }), ['000000000002'])
  const { summaries } = await united.search({ limit: 10 })
  const failed = summaries.find(({ token }) => token === '000000000002')
  t.match(failed && findOccurrences(summaries, failed), { count: 0, program: 'shop (two/shop)' })

  const live: unknown[] = []
  const stop = united.tail(({ program }) => live.push(program))
  add('000000000004', '55555555/three/shop', 'host')
  stop()
  t.strictSame(live, ['shop (three/shop)'], 'live lists')
  const many = Array.from({ length: 120 }, (_, index) => `${String(index).padStart(8, '0')}/x/shop`)
  for (const [index, folder] of many.entries()) add(`0000000001${index.toString(16).padStart(2, '0')}`, folder, 'host')
  const all = (await united.search({ limit: 1000 })).summaries.map(({ folder, program }) => `${folder} ${program}`)
  t.equal(new Set(all.filter(text => text.includes('/x/'))).size, 120)
  t.equal(new Set(all.map(text => text.split(' ').slice(1).join())).size, 125, 'each folder has a name of its own')
})
