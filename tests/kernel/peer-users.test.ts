import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { t } from 'tap'
import { PeerUsers, type SocketTable } from '../../kernel/peer-users.ts'

const connection = {
  remoteAddress: '127.0.0.1',
  remotePort: 50_000,
  localAddress: '127.0.0.1',
  localPort: 8000,
}

function row(ends: string, user: number, inode: number): string {
  return `  12: ${ends} 01 00000000:00000000 02:000A7214 00000000  ${user}        0 ${inode} 2 000000002c3a6aa9 20 4 30 10 -1\n`
}

function failure(code: string): Error {
  return Object.assign(new Error(code), { code })
}

/** Creates what asks these tables; an error is what reading one fails with. */
function ask(tables: Partial<Record<SocketTable, string | Error>>) {
  return new PeerUsers(async table => {
    const rows = tables[table] ?? ''
    if (rows instanceof Error) throw rows
    return Buffer.from(`  sl  local_address rem_address   st\n${rows}`)
  })
}

t.test('the row of the peer names its user, and no other row does', async t => {
  const rows = [
    row('00000000:1F40 00000000:0000', 1, 10),
    row('0100007F:1F40 0100007F:C350', 2, 11),
    row('0100007F:C350 0100007F:1F41', 3, 12),
    row('0100007F:C351 0100007F:1F40', 4, 13),
    row('0100007F:C350 0100007F:1F40', 65_534, 14),
    row('0100007F:C350 0200007F:1F40', 5, 15),
  ]
  t.equal(await ask({ tcp: rows.join('') }).find(connection), 65_534)
  t.equal(await ask({ tcp: rows.filter((_, index) => index !== 4).join('') }).find(connection), 'nobody')
})

t.test('a row without an inode has no user', async t => {
  const left = row('0100007F:C350 0100007F:1F40', 0, 0)
  const held = row('0100007F:C350 0100007F:1F40', 1000, 7)
  t.equal(await ask({ tcp: left }).find(connection), 'nobody')
  t.equal(await ask({ tcp: left + held }).find(connection), 1000)
})

t.test('IPv4 stands in either table, IPv6 in its own', async t => {
  const mapped = row('0000000000000000FFFF00000100007F:C350 0000000000000000FFFF00000100007F:1F40', 33, 7)
  t.equal(await ask({ tcp6: mapped }).find(connection), 33)
  const dual = { ...connection, remoteAddress: '::ffff:127.0.0.1', localAddress: '::ffff:127.0.0.1' }
  t.equal(await ask({ tcp6: mapped }).find(dual), 33)
  t.equal(await ask({ tcp: row('0100007F:C350 0100007F:1F40', 34, 7) }).find(dual), 34)
  const six = row('00000000000000000000000001000000:C350 00000000000000000000000001000000:1F40', 35, 7)
  const long = { ...connection, remoteAddress: '::1', localAddress: '::1' }
  t.equal(await ask({ tcp: failure('EIO'), tcp6: six }).find(long), 35, 'its own only')
  t.equal(await ask({ tcp6: six }).find({ ...long, localAddress: '127.0.0.1' }), 'nobody')
  t.equal(await ask({ tcp6: six }).find({}), 'nobody')
})

t.test('where there is no table the user is unknown; where one cannot be read now, there is none', async t => {
  for (const code of ['ENOENT', 'EACCES']) {
    t.equal(await ask({ tcp: failure(code), tcp6: failure(code) }).find(connection), 'unknown', code)
    t.equal(await ask({ tcp6: failure(code) }).find(connection), 'nobody', `without IPv6, ${code}`)
    t.equal(await ask({ tcp: failure(code) }).find(connection), 'nobody', `without IPv4, ${code}`)
  }
  t.equal(await ask({ tcp: failure('EMFILE') }).find(connection), 'nobody')
})

t.test('all that ask during one reading share the next one', async t => {
  const readings: ((rows: Buffer) => void)[] = []
  const users = new PeerUsers(() => new Promise(resolve => readings.push(resolve)))
  const answer = async (user: number) => {
    await new Promise(resolve => setImmediate(resolve))
    readings.at(-1)?.(Buffer.from(row('0100007F:C350 0100007F:1F40', user, 7)))
  }
  const first = users.find(connection)
  await answer(1)
  t.equal(await first, 1)
  const second = users.find(connection)
  await new Promise(resolve => setImmediate(resolve))
  const later = [users.find(connection), users.find(connection)]
  t.equal(readings.length, 2)
  await answer(2)
  t.equal(await second, 2)
  await answer(3)
  t.strictSame(await Promise.all(later), [3, 3])
  t.equal(readings.length, 3)
})

t.test(
  'Linux names the user of a real socket',
  { skip: process.platform !== 'linux' && 'this is not Linux' },
  async t => {
    for (const host of ['127.0.0.1', '::1']) {
      const server = createServer().listen(0, host)
      t.teardown(() => server.close())
      await once(server, 'listening')
      const address = server.address()
      const port = address !== null && typeof address === 'object' ? address.port : 0
      const client = connect(port, host)
      const [socket] = (await once(server, 'connection')) as [Socket]
      t.equal(await new PeerUsers().find(socket), process.getuid?.(), host)
      client.destroy()
      await once(socket.resume(), 'close')
      t.equal(await new PeerUsers().find(socket), 'nobody', 'it has gone')
    }
  },
)
