import { readFileSync } from 'node:fs'
import { CONFIG_INVALID } from './errors.ts'

/**
 * Finds the ids of users in `/etc/passwd`; an id stands for itself.
 *
 * @throws CONFIG_INVALID naming each user that is not there
 */
export function findUserIds(users: readonly string[]): readonly number[] {
  const names = users.filter(user => !isId(user))
  const known = names.length === 0 ? new Map<string, number>() : readUsers()
  const unknown = names.filter(name => !known.has(name))
  if (unknown.length > 0) {
    const mistakes = unknown.map(
      name => `  DEBUG_ALLOWED_USERS "${name}" is no user in /etc/passwd; the number of its id would do.`,
    )
    throw new CONFIG_INVALID([mistakes.join('\n')])
  }
  return users.map(user => known.get(user) ?? Number(user))
}

function isId(user: string): boolean {
  return /^\d+$/.test(user)
}

function readUsers(): ReadonlyMap<string, number> {
  const lines = readFileSync('/etc/passwd', 'utf8').split('\n')
  return new Map(lines.map(line => line.split(':')).map(([name = '', , id]) => [name, Number(id)]))
}
