import { t } from 'tap'
import { MemoryProfileStorage } from '#bundles/profiler/store/memory-profile-storage.ts'
import { UnitedStorage } from '#bundles/profiler/store/united-storage.ts'
import { createRecord, type RecordInit } from '#tests/support/create-profile.ts'

/** Two programs with their profiles; the second one may begin later. */
function unite(own: readonly RecordInit[], other: readonly RecordInit[]) {
  const [first, second] = [new MemoryProfileStorage(), new MemoryProfileStorage()]
  for (const init of own) first.append(createRecord(init), '{}')
  for (const init of other) second.append(createRecord(init), '{}')
  const program = { id: 'aaaaaa', directory: '/apps/stock', storage: second, armFile: '/none', replaySecret: 'secret' }
  return { first, second, program, united: new UnitedStorage(first, () => [program]) }
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
