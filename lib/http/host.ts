/** A Host header, or a host as a configuration names it. */
export interface Host {
  /** Lower case, without a port and without a final dot; an IPv6 address keeps its brackets. */
  readonly name: string
  /** Absent when none was given. */
  readonly port?: number
}

const grammar = /^([a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.?|\[[0-9a-f:.]+\])(?::([0-9]{0,5}))?$/

/** Whether a list of hosts has a name on it; `*.example.org` stands for its subdomains. */
export function includesHost(hosts: readonly string[], name: string): boolean {
  return hosts.some(host =>
    host.startsWith('*.') ? name.endsWith(host.slice(1)) && name.length > host.length - 1 : name === host,
  )
}

/** The last host that was read: nearly all requests name the same one. */
let last: { readonly value: string; readonly host: Host | undefined } = { value: '', host: undefined }

/** Reads a Host header (RFC 9110, section 7.2); `undefined` when it is not one. */
export function parseHost(value: string): Host | undefined {
  if (value !== last.value) last = { value, host: readHost(value) }
  return last.host
}

function readHost(value: string): Host | undefined {
  if (value.length > 255) return undefined
  const [, name, port] = grammar.exec(value.toLowerCase()) ?? []
  if (name === undefined || Number(port) > 65_535) return undefined
  const host = name.endsWith('.') ? name.slice(0, -1) : name
  return port ? { name: host, port: Number(port) } : { name: host }
}
