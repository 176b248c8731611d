import assert from 'node:assert'
import { createRequire } from 'node:module'
import type { Test } from 'tap'

type BrowserWindow = Window & typeof globalThis & { readonly happyDOM: { close(): Promise<void> } }

/** Its own types would declare other classes than those of the compiler's library, which the client code uses. */
const { Window } = createRequire(import.meta.url)('happy-dom') as {
  readonly Window: new (options: { readonly url: string }) => BrowserWindow
}

/** The globals of a browser that the client code uses. */
const names = [
  'window',
  'document',
  'location',
  'history',
  'navigator',
  'localStorage',
  'addEventListener',
  'dispatchEvent',
  'getSelection',
  'getComputedStyle',
  'CSSStyleSheet',
  'DOMParser',
  'Document',
  'Element',
  'Event',
  'FormData',
  'HTMLButtonElement',
  'HTMLDetailsElement',
  'HTMLElement',
  'HTMLFormElement',
  'HTMLInputElement',
  'HTMLSelectElement',
  'KeyboardEvent',
  'MouseEvent',
  'MutationObserver',
  'Node',
  'ResizeObserver',
] as const

/** A page in a simulated browser without layout, whose clock is moved by the test. */
export interface Page {
  readonly window: Window & typeof globalThis
  /** Replaces a global until the test ends. */
  readonly replace: (name: string, value: unknown) => void
  /** Finds one element. @throws when there is none */
  readonly find: <element extends HTMLElement = HTMLElement>(selector: string) => element
  /** Presses a key, by default with the focus where it is. Gives false when the default action was prevented. */
  readonly press: (key: string, options?: KeyboardEventInit, target?: EventTarget) => boolean
  /** Changes the value of a control, as a user does. */
  readonly enter: (selector: string, value: string) => void
  /** Moves the clock by milliseconds: timers that are due run in their order. */
  readonly pass: (milliseconds: number) => Promise<void>
  /** Lets pending promises settle. */
  readonly settle: () => Promise<void>
}

/** Opens a page with this body, and makes it the global one until the test ends. */
export function openPage(t: Test, body: string, url = 'http://localhost/_profiler/'): Page {
  const window = new Window({ url })
  const replaced = new Map<string, PropertyDescriptor | undefined>()
  const replace = (name: string, value: unknown) => {
    if (!replaced.has(name)) replaced.set(name, Object.getOwnPropertyDescriptor(globalThis, name))
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true })
  }
  for (const name of names) {
    const value = window[name]
    replace(
      name,
      /^get|Event(?:Listener)?$/.test(name) && /^[a-z]/.test(name) ? (value as () => unknown).bind(window) : value,
    )
  }
  const { pass, settle } = installClock(replace)
  window.document.body.innerHTML = body
  t.teardown(async () => {
    for (const [name, descriptor] of replaced) {
      if (descriptor === undefined) Reflect.deleteProperty(globalThis, name)
      else Object.defineProperty(globalThis, name, descriptor)
    }
    await window.happyDOM.close()
  })

  const find = <element extends HTMLElement>(selector: string) => {
    const found = window.document.querySelector<element>(selector)
    assert(found, `There is no ${selector}.`)
    return found
  }
  // Without another one, the body has the focus.
  const focused = () => window.document.activeElement as Element
  const press = (key: string, options: KeyboardEventInit = {}, target: EventTarget = focused()) =>
    target.dispatchEvent(new window.KeyboardEvent('keydown', { key, bubbles: true, cancelable: true, ...options }))
  const enter = (selector: string, value: string) => {
    const control = find<HTMLInputElement>(selector)
    control.value = value
    for (const type of ['input', 'change']) control.dispatchEvent(new window.Event(type, { bubbles: true }))
  }
  return { window, replace, find, press, enter, pass, settle }
}

let runs = 0

/** Runs the script of the profiler's pages, as a browser does after the page. */
export async function runScript(): Promise<void> {
  // A module runs once for each address.
  await import(new URL(`../../../../bundles/profiler/client/profiler.js?${++runs}`, import.meta.url).href)
}

function installClock(replace: Page['replace']): Pick<Page, 'pass' | 'settle'> {
  let now = Date.now()
  let lastId = 0
  const timers = new Map<number, { readonly due: number; readonly interval: number; readonly callback: () => void }>()
  const add = (callback: () => void, delay: number, interval: number) => {
    timers.set(++lastId, { due: now + delay, interval, callback })
    return lastId
  }
  const nextTick = globalThis.setImmediate
  const settle = async () => {
    for (let turn = 0; turn < 5; turn++) await new Promise(resolve => nextTick(resolve))
  }
  replace('setTimeout', (callback: () => void, delay = 0) => add(callback, delay, 0))
  replace('setInterval', (callback: () => void, delay = 0) => add(callback, delay, delay))
  replace('clearTimeout', (id: number) => timers.delete(id))
  const pass = async (milliseconds: number) => {
    await settle()
    const end = now + milliseconds
    for (;;) {
      const [next] = [...timers].filter(([, { due }]) => due <= end).sort(([, a], [, b]) => a.due - b.due)
      if (next === undefined) break
      const [id, { callback, due, interval }] = next
      now = due
      timers.delete(id)
      if (interval > 0) timers.set(id, { due: due + interval, interval, callback })
      callback()
      await settle()
    }
    now = end
    await settle()
  }
  return { pass, settle }
}
