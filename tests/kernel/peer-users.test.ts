import { once } from 'node:events'
import { connect, createServer, type Socket } from 'node:net'
import { t } from 'tap'
import { PeerUsers, type SocketTable } from '#kernel/debug/debug-gate.ts'

const connection = { remoteAddress: '127.0.0.1', remotePort: 50_000, localAddress: '127.0.0.1', localPort: 8000 }

function row(ends: string, user: number, inode: number): string {
  return `  12: ${ends} 01 00000000:00000000 02:000A7214 00000000  ${user}        0 ${inode} 2 000000002c3a6aa9 20 4 30 10 -1\n`
}

function failure(code: string): Error {
  return Object.assign(new Error(code), { code })
}

/** Creates what asks these tables; an error is what reading one fails with. */
function ask(tables: Partial<Record<SocketTable, string | Error>>) {
  return new PeerUsers((table, isEnough) => {
    const rows = tables[table] ?? ''
    if (rows instanceof Error) throw rows
    isEnough(`  sl  local_address rem_address   st\n${rows}`)
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
  t.equal(ask({ tcp: rows.join('') }).find(connection), 65_534)
  t.equal(ask({ tcp: rows.filter((_, index) => index !== 4).join('') }).find(connection), 'none')
})

t.test('a row without an inode has no user', async t => {
  const left = row('0100007F:C350 0100007F:1F40', 0, 0)
  const held = row('0100007F:C350 0100007F:1F40', 1000, 7)
  t.equal(ask({ tcp: left }).find(connection), 'none')
  t.equal(ask({ tcp: left + held }).find(connection), 1000)
})

t.test('IPv4 stands in either table, IPv6 in its own', async t => {
  const mapped = row('0000000000000000FFFF00000100007F:C350 0000000000000000FFFF00000100007F:1F40', 33, 7)
  t.equal(ask({ tcp6: mapped }).find(connection), 33)
  const dual = { ...connection, remoteAddress: '::ffff:127.0.0.1', localAddress: '::ffff:127.0.0.1' }
  t.equal(ask({ tcp6: mapped }).find(dual), 33)
  t.equal(ask({ tcp: row('0100007F:C350 0100007F:1F40', 34, 7) }).find(dual), 34)
  const six = row('00000000000000000000000001000000:C350 00000000000000000000000001000000:1F40', 35, 7)
  const long = { ...connection, remoteAddress: '::1', localAddress: '::1' }
  t.equal(ask({ tcp: failure('EIO'), tcp6: six }).find(long), 35, 'its own only')
  t.equal(ask({ tcp6: six }).find({ ...long, localAddress: '127.0.0.1' }), 'none')
  t.equal(ask({ tcp6: six }).find({}), 'none')
})

t.test('where there is no table the user is unknown; where one cannot be read now, there is none', async t => {
  for (const code of ['ENOENT', 'EACCES']) {
    t.equal(ask({ tcp: failure(code), tcp6: failure(code) }).find(connection), 'unknown', code)
    t.equal(ask({ tcp6: failure(code) }).find(connection), 'none', `without IPv6, ${code}`)
    t.equal(ask({ tcp: failure(code) }).find(connection), 'none', `without IPv4, ${code}`)
  }
  t.equal(ask({ tcp: failure('EMFILE') }).find(connection), 'none')
})

t.test('a row is found wherever the parts of the table end, and nothing is read after it', async t => {
  const rows = [
    row('0100007F:C350 0100007F:1F41', 1, 7),
    row('0100007F:C350 0100007F:1F40', 2, 8),
    row('0:1 0:2', 3, 9),
  ]
  const table = rows.join('')
  for (let length = 1; length < table.length; length++) {
    const parts = Array.from({ length: Math.ceil(table.length / length) }, (_, index) =>
      table.slice(index * length, (index + 1) * length),
    )
    let read = 0
    const users = new PeerUsers((_table, isEnough) => {
      read += parts.findIndex(isEnough) + 1
    })
    const needed = Math.ceil(rows.slice(0, 2).join('').length / length)
    if (users.find(connection) !== 2 || read !== needed) t.fail(`${length}: ${read} parts of ${needed}`)
  }
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
      t.equal(new PeerUsers().find(socket), process.getuid?.(), host)
      client.destroy()
      await once(socket.resume(), 'close')
      t.equal(new PeerUsers().find(socket), 'none', 'it has gone')
    }
  },
)
