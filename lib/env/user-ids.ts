import { readFileSync } from 'node:fs'
import { CONFIG_INVALID } from './errors.ts'

/**
 * Finds the ids of users in `/etc/passwd`; an id stands for itself.
 *
 * @throws CONFIG_INVALID naming each user that is not there
 */
export function findUserIds(users: readonly string[], readUsers: () => string = readPasswd): readonly number[] {
  if (users.length === 0) return []
  const known = new Map(
    readUsers()
      .split('\n')
      .map(line => line.split(':'))
      .map(([name = '', , id]) => [name, Number(id)]),
  )
  const idOf = (user: string) => (/^\d+$/.test(user) ? Number(user) : known.get(user))
  const unknown = users.filter(user => idOf(user) === undefined)
  if (unknown.length > 0) {
    const mistakes = unknown.map(
      user => `  DEBUG_ALLOWED_USERS "${user}" is no user in /etc/passwd; the number of its id would do.`,
    )
    throw new CONFIG_INVALID([mistakes.join('\n')])
  }
  return users.map(idOf).filter(id => id !== undefined)
}

function readPasswd(): string {
  try {
    return readFileSync('/etc/passwd', 'utf8')
  } catch {
    return ''
  }
}
