import { Users } from '../accounts/users.ts'
import { Outbox } from '../mails/outbox.ts'
import { Tools } from '../tools/tools.ts'
import type { Database } from './database.ts'

/** The password of both users of the seed. */
export const seedPassword = 'a good password'

/** Fills empty tables with an administrator, a member and 45 tools. Returns false if they are not empty. */
export async function seed(database: Database): Promise<boolean> {
  const users = new Users(database)
  const admin = await users.add('admin@example.org', 'Ada', seedPassword)
  if (admin === undefined) return false
  const member = await users.add('member@example.org', 'Grace', seedPassword)
  await users.setRole('admin@example.org', 'admin')
  const tools = new Tools(database, new Outbox(database))
  for (let number = 1; number <= 45; number++) {
    await tools.add(
      `Tool ${String(number).padStart(2, '0')}`,
      number % 2 || member === undefined ? admin.id : member.id,
    )
  }
  return true
}
