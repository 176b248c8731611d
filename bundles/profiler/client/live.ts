import { createElement } from './browser.ts'
import { fetchPage } from './page.ts'

/** The state of the application: when its code came into use, and the first mistake in changed files. */
interface ApplicationState {
  readonly version: number
  readonly problem: string
}

/** The answer of the server after a replay. */
interface VerifyAnswer {
  readonly state: 'fixed' | 'doubtful' | 'moved' | 'changed' | 'present' | 'failing' | 'unsure'
  readonly text: string
  readonly links: readonly { readonly text: string; readonly link: string }[]
  /** What was measured before and in each replay: a line of text for each. */
  readonly proof: string
}

/** Milliseconds before a retry after the stream has ended: doubled with each failure. */
const retryDelay = { first: 200, longest: 5_000 }

/**
 * The failures after which the application is probably not just restarting, and those after which
 * the page stops waiting.
 */
const failureLimit = { hint: 5, end: 120 }

/**
 * Makes `<form data-verify="…">` wait until a file was saved and the application uses it, replay
 * the request, and show the verdict. If the flaw is still there, or the page fails, it waits
 * again. The place beside the form opens in the editor.
 */
export function enableVerification(root: ParentNode): void {
  for (const form of root.querySelectorAll<HTMLFormElement>('form[data-verify]')) new Verification(form)
}

class Verification {
  readonly #form: HTMLFormElement
  readonly #hint: string
  readonly #status = createElement('div', { class: 'verify-status', role: 'status' })
  readonly #cancel = createElement('button', { class: 'button small', type: 'button', hidden: '' }, 'Cancel')
  /** The version of the code that was verified last. */
  #verified: number
  #verdict: readonly (Node | string)[] = []
  #source: EventSource | undefined
  #isWaiting = false
  #isReplaying = false
  #latest: ApplicationState | undefined
  #failures = 0
  #retryTimer = 0

  constructor(form: HTMLFormElement) {
    this.#form = form
    this.#verified = Number(form.dataset.time)
    const start = 'elsewhere' in form.dataset ? ', and start the application again if nothing does so' : ''
    this.#hint = `Save the fix${start}: this request then runs again.`
    const button = form.querySelector('button')
    if (button !== null) button.textContent = 'Fix and verify'
    form.append(this.#cancel)
    form.after(this.#status)
    form.addEventListener('submit', event => {
      event.preventDefault()
      this.#start()
    })
    this.#cancel.addEventListener('click', () => {
      this.#stop()
      this.#show('', ...this.#verdict)
    })
  }

  #start(): void {
    if (this.#isWaiting) return
    this.#form.closest('li, section')?.querySelector<HTMLElement>('a.place, .place[data-at]')?.click()
    this.#isWaiting = true
    this.#failures = 0
    this.#cancel.hidden = false
    this.#show('waiting', this.#hint)
    this.#open()
  }

  #stop(): void {
    this.#isWaiting = false
    this.#cancel.hidden = true
    this.#source?.close()
    clearTimeout(this.#retryTimer)
  }

  #open(): void {
    const source = new EventSource('/_profiler/state')
    this.#source = source
    source.addEventListener('state', ({ data }) => {
      this.#failures = 0
      // The server has written this JSON, so its type is not checked.
      this.#latest = JSON.parse(data) as ApplicationState
      void this.#follow(this.#latest)
    })
    source.addEventListener('error', () => {
      source.close()
      if (this.#isWaiting && this.#source === source) this.#reopen()
    })
  }

  /** A restart ends the stream. The retry of browsers has no growing delay, and ends after some errors. */
  #reopen(): void {
    this.#failures++
    if (this.#failures > failureLimit.end) this.#stop()
    if (this.#failures < failureLimit.hint) this.#show('waiting', ...this.#verdict, 'The application is restarting.')
    else this.#fail('The application does not start (yet): see the terminal.')
    if (!this.#isWaiting) return
    const wait = Math.min(retryDelay.first * 2 ** (this.#failures - 1), retryDelay.longest)
    this.#retryTimer = setTimeout(() => this.#open(), wait)
  }

  async #follow({ problem, version }: ApplicationState): Promise<void> {
    if (!this.#isWaiting || this.#isReplaying) return
    if (problem !== '') this.#fail(`The changed files cannot be used: ${problem}`)
    else if (version > this.#verified) await this.#replay(version)
    else this.#show('waiting', ...this.#verdict, this.#hint)
  }

  async #replay(version: number): Promise<void> {
    this.#isReplaying = true
    this.#show('waiting', 'The request runs again.')
    const body = new URLSearchParams({ flaw: String(new FormData(this.#form).get('flaw')) })
    const answer = await fetch(this.#form.dataset.verify ?? '', { method: 'POST', body })
      .then(response => response.json() as Promise<VerifyAnswer>)
      .catch(() => undefined)
    this.#isReplaying = false
    // The server has stopped meanwhile: its next process sends its state.
    if (!this.#isWaiting || answer === undefined) return
    this.#verified = version
    const { links, proof, state, text } = answer
    this.#verdict = [
      createElement('strong', {}, text),
      ...links.map(({ link, text }) => createElement('a', { href: link }, text)),
      ...(proof === '' ? [] : [createElement('pre', {}, proof)]),
    ]
    const isWrong = !/fixed|doubtful|unsure/.test(state)
    if (!isWrong) this.#stop()
    this.#show(state, ...this.#verdict, ...(isWrong ? ['Save another fix.'] : []))
    // A file may have been saved meanwhile.
    const latest = this.#latest?.version ?? version
    if (isWrong && latest > version) await this.#replay(latest)
  }

  #fail(text: string): void {
    this.#show('failing', createElement('strong', {}, text))
  }

  #show(state: VerifyAnswer['state'] | 'waiting' | '', ...parts: readonly (Node | string)[]): void {
    // A verdict is on the page below the dialog in which an editor is chosen.
    if (state !== 'waiting') document.querySelector<HTMLDialogElement>('.editors')?.close()
    this.#status.dataset.state = state
    this.#status.replaceChildren(...parts.flatMap((part, index) => (index === 0 ? [part] : [' ', part])))
  }
}

/** The page that waits for a request to be sampled opens its profile then. */
export function followSample(waiting: HTMLElement | null): void {
  if (waiting === null) return
  const source = new EventSource(waiting.dataset.armed ?? '')
  const check = async () => {
    const { document: page } = await fetchPage(location.href)
    if (page.querySelector('[data-armed]') !== null) return
    const link = page.querySelector<HTMLAnchorElement>('[data-sampled]')?.getAttribute('href')
    // Another process may have sampled the request: then only the page changes.
    if (!link) {
      source.close()
      location.reload()
      return
    }
    // While the request is handled, it has no profile.
    const url = new URL(link, location.href).href
    await fetchPage(url)
    source.close()
    location.assign(url)
  }
  const tryCheck = () => void check().catch(() => undefined)
  for (const type of ['open', 'profiles', 'reload']) source.addEventListener(type, tryCheck)
}

/** Milliseconds between two polls. A poll takes about one. */
const interval = 1000

/**
 * `<main data-sources="version" data-poll="path">` shows files that cannot be used. Loads the page
 * again when the server answers with another version: there are other mistakes, or the application
 * runs. While it restarts there is no answer.
 */
export function followSources(main: HTMLElement | null): void {
  if (main === null) return
  const { poll = '', sources } = main.dataset
  const ask = async () => {
    const version = document.hidden
      ? sources
      : await fetch(poll, { method: 'HEAD', redirect: 'manual' }).then(
          ({ headers }) => headers.get('x-sources'),
          () => sources,
        )
    if (version === sources) setTimeout(ask, interval)
    else location.reload()
  }
  setTimeout(ask, interval)
}
