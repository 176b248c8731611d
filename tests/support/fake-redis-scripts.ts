/** What a script of the fake server returns. */
export type FakeReply = Buffer | string | number | null | readonly FakeReply[]

interface FakeProfile {
  summary: Buffer
  text: Buffer
  facts: string
  version: number
  position: number
  size: number
  isPinned: boolean
  readonly isMessage: boolean
}

/**
 * The scripts of the profile storage on data in memory, for one prefix. The same cases test them and the real scripts.
 */
export class FakeScripts {
  readonly #profiles = new Map<string, FakeProfile>()
  readonly #facts = new Map<string, Buffer>()
  readonly #writers = new Set<string>()
  readonly #spans = new Map<string, Buffer[]>()
  #generation: string | undefined
  #last = 0
  #horizon = 0
  #messageHorizon = 0
  #pins = 0

  /** Runs a script by its name. */
  run(name: string, args: readonly Buffer[]): FakeReply {
    const texts = args.map(String)
    if (name === 'append') return this.#append(args, texts)
    if (name === 'facts') return this.#facts.set(String(texts[0]), args[1] as Buffer).size
    if (name === 'read') return this.#read(texts)
    if (name === 'list') return this.#list(texts)
    if (name === 'pin') return this.#pin(texts)
    if (name === 'trim') return this.#trim(texts)
    if (name === 'append-spans') return this.#appendSpans(String(texts[0]), args.slice(4))
    if (name === 'find-spans') return this.#spans.get(String(texts[0])) ?? []
    return this.#purgeSpans()
  }

  /** Replaces a part of a stored profile. */
  damage(token: string, field: 'text' | 'summary' | 'facts', value: string): void {
    const profile = this.#profiles.get(token)
    if (profile !== undefined) Object.assign(profile, { [field]: field === 'facts' ? value : Buffer.from(value) })
  }

  #append(args: readonly Buffer[], texts: readonly string[]): FakeReply {
    const [token = '', , , facts = '', , writer = '', replaced, generation, message] = texts
    const [, summary = empty, text = empty] = args
    const known = this.#profiles.get(token)
    if (replaced !== '' && replaced !== String(known?.version)) return 0
    this.#generation ??= String(generation)
    const version = this.#stamp()
    const { isPinned = false, position = version } = known ?? {}
    const size = summary.length + text.length + 500
    // Copies: the arguments are parts of what was received.
    const stored = { summary: Buffer.from(summary), text: Buffer.from(text) }
    this.#profiles.set(token, { ...stored, facts, version, position, size, isPinned, isMessage: message === '1' })
    this.#writers.add(writer)
    return [String(version), String(position), this.#generation, this.#facts.has(facts) ? 1 : 0]
  }

  #read([token = '', writer = '']: readonly string[]): FakeReply {
    const profile = this.#profiles.get(token)
    if (profile === undefined) return this.#writers.size - (this.#writers.has(writer) ? 1 : 0)
    const { facts, isPinned, text, version } = profile
    return [text, this.#facts.get(facts) ?? '', isPinned ? 1 : 0, String(version)]
  }

  #list([from = '', until = '', order = '', count = '', pins = '']: readonly string[]): FakeReply {
    const sign = order === 'REV' ? -1 : 1
    const start = Number(from.replace('(', '').replace('inf', 'Infinity'))
    const isListed = ({ version }: FakeProfile) => sign * version > sign * start || !from.startsWith('(')
    const rows = [...this.#profiles]
      .filter(([, profile]) => isListed(profile))
      .sort(([, one], [, other]) => sign * (one.version - other.version))
      .slice(0, Number(count))
      .map(([token, { position, summary, version }]) => [token, String(version), String(position), summary])
    const pinned = [...this.#profiles].filter(([, { isPinned }]) => isPinned).map(([token]) => token)
    const state = [
      this.#generation ?? '',
      String(this.#horizon),
      String(this.#messageHorizon),
      String(this.#last),
      this.#bytes(() => true),
    ]
    const isKnown = pins === String(this.#pins) && until !== ''
    return [...state, String(this.#pins), isKnown ? [] : pinned, rows]
  }

  #pin([token = '', isPinned]: readonly string[]): FakeReply {
    const profile = this.#profiles.get(token)
    if (profile === undefined) return 0
    profile.isPinned = isPinned === '1'
    const horizon = profile.isMessage ? Math.max(this.#horizon, this.#messageHorizon) : this.#horizon
    if (!profile.isPinned && profile.position <= horizon) this.#profiles.delete(token)
    this.#pins = this.#stamp()
    return 1
  }

  #trim([count, bytes, age, until, messages, messageBytes]: readonly string[]): FakeReply {
    const limit = until === '' ? this.#last : Number(until)
    let removed = 0
    const ofMessages = this.#loose(({ isMessage }) => isMessage)
    for (const [index, [token, { position }]] of ofMessages.entries()) {
      const left = this.#bytes(({ isMessage, isPinned }) => isMessage && !isPinned)
      const isOver = ofMessages.length - index > Number(messages) || left > Number(messageBytes)
      if (removed === 100 || !isOver) break
      this.#profiles.delete(token)
      this.#messageHorizon = position
      removed++
    }
    const loose = this.#loose(() => true)
    let left = loose.length
    for (const [token, { position }] of loose) {
      const isOver = left > Number(count) || this.#bytes(({ isPinned }) => !isPinned) > Number(bytes)
      const isOld = position <= limit || position < now() - Number(age)
      if (removed === 100 || !(isOver || isOld)) break
      this.#profiles.delete(token)
      this.#horizon = position
      left--
      removed++
    }
    return [removed === 100 ? 1 : 0, String(limit), String(this.#horizon), String(this.#messageHorizon)]
  }

  /** Those that are not pinned, the oldest first. */
  #loose(isWanted: (profile: FakeProfile) => boolean): readonly [string, FakeProfile][] {
    const found = [...this.#profiles].filter(([, profile]) => !profile.isPinned && isWanted(profile))
    return found.sort(([, one], [, other]) => one.position - other.position)
  }

  #appendSpans(trace: string, spans: readonly Buffer[]): FakeReply {
    this.#spans.set(trace, [...(this.#spans.get(trace) ?? []), ...spans.map(each => Buffer.from(each))])
    return 1
  }

  #purgeSpans(): FakeReply {
    const traces = [...this.#spans.keys()].slice(0, 100)
    for (const trace of traces) this.#spans.delete(trace)
    return traces.length === 100 ? 1 : 0
  }

  #bytes(isCounted: (profile: FakeProfile) => boolean): number {
    return [...this.#profiles.values()].filter(isCounted).reduce((sum, { size }) => sum + size, 0)
  }

  #stamp(): number {
    this.#last = Math.max(now(), this.#last + 1)
    return this.#last
  }
}

const empty = Buffer.alloc(0)

function now(): number {
  return Date.now() * 1000
}
