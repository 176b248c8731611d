import { followCallbacks } from './async-calls.ts'
import type { FileChanges, Library } from './library.ts'

/** Its native functions, behind those with a promise and with a callback. */
export const bcrypt: Library = {
  name: 'bcrypt',
  reports: 'process',
  seenBy: 'patch',
  notSeen: 'the line of a hash whose salt is a number of rounds: the function of the request is shown',
  changes: listBindings('bcrypt_lib', 'bcrypt', 'bcrypt.glibc', 'bcrypt.musl'),
}

function listBindings(...names: readonly string[]): FileChanges {
  const change = (exports: unknown) =>
    void followCallbacks('bcrypt', Object(exports), { encrypt: 'hash', compare: 'compare' })
  return Object.fromEntries(names.map(name => [`${name}.node`, change]))
}
