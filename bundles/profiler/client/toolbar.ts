import { createElement, updateTimes } from './browser.ts'
import { reload, restoreFields } from './reload.ts'
import {
  Bar,
  type Call,
  CallList,
  CallsItem,
  ErrorsItem,
  findPageErrors,
  findPageToken,
  loadStyles,
  loadToolbar,
} from './toolbar-bar.ts'

const tagName = 'script[data-profiler-toolbar]'

/** Milliseconds after a call or a navigation: by then scripts have replaced parts of the page. */
const checkDelays: readonly number[] = [0, 100, 1000]

/** Shows the profile of the page, also after a navigation by scripts: each new tag names another profile. */
async function start(): Promise<void> {
  // A part of the page may have loaded a second version of this script: the first one keeps the toolbar.
  if (document.querySelector('profiler-toolbar') !== null) return
  let tag = findTag()
  if (tag === undefined) return
  try {
    restoreFields()
  } catch {
    // Without them the toolbar works.
  }
  let pageUrl = currentUrl()
  let wanted = ''
  let isReloaded = false
  /** The latest call when the page changed last. */
  let lastCall: Call | undefined

  const sheet = await loadStyles(new URL('profiler.css', import.meta.url).href)
  // An error of the page calls `update`, which needs all that follows.
  const list = new CallList(() => {
    update()
    follow()
  })
  const item = new CallsItem(list, () => {
    list.clear()
    update()
  })
  const errors = findPageErrors()
  const errorsItem = new ErrorsItem(errors ?? { list: [] })
  if (errors !== undefined) errors.onError = update
  const bar = new Bar(sheet, [errorsItem.element, item.element])
  const token = findPageToken()
  const ownPath = token === undefined ? tag : `/_wdt/${token}`

  function update(): void {
    item.update()
    errorsItem.update(ownPath.replace('/_wdt/', '/_profiler/'))
    bar.showFailures(item.failures, errorsItem.count)
  }

  async function show(path: string): Promise<void> {
    if (path === wanted) return
    wanted = path
    await load()
  }

  async function load(path = wanted): Promise<void> {
    const section = await loadToolbar(path, () => path === wanted)
    if (path !== wanted) return
    if (section !== undefined) {
      updateTimes(section)
      isReloaded = section.dataset.reload !== undefined
    }
    bar.show(section ?? createMissing())
  }

  /** Finds the new profile: by a new tag, or else by the call that loaded the new URL of the page. */
  function check(): void {
    const newest = findTag()
    const isNewTag = newest !== undefined && newest !== tag
    const newUrl = currentUrl()
    const call = newUrl === pageUrl ? undefined : list.findPage(newUrl, lastCall)
    if (!isNewTag && call === undefined) return
    pageUrl = newUrl
    lastCall = list.calls[0]
    if (isNewTag) tag = newest
    void show(isNewTag ? newest : `/_wdt/${call?.token}`)
  }

  function follow(): void {
    for (const delay of checkDelays) setTimeout(check, delay)
  }

  update()
  void show(ownPath)
  followState(isEdited => {
    if (isEdited && isReloaded) reload()
    else void load()
  })
  list.watch()
  window.addEventListener('popstate', follow)
  new MutationObserver(follow).observe(document.documentElement, { childList: true })
  const { navigation } = window as { navigation?: EventTarget }
  navigation?.addEventListener('currententrychange', follow)
}

/**
 * Calls a function when the code of the application or the mistakes in its sources have changed,
 * with whether code newer than the page is in use: another worker may have older code. A page that
 * is not visible keeps no connection, because browsers open only six to each host.
 */
function followState(onChange: (isEdited: boolean) => void): void {
  let known: string | undefined
  let source: EventSource | undefined
  const connect = () => {
    source?.close()
    if (document.hidden) return
    source = new EventSource('/_profiler/state')
    source.addEventListener('state', ({ data }) => {
      const { problem, version } = JSON.parse(data)
      if (known !== undefined && data !== known) onChange(problem === '' && version > performance.timeOrigin)
      known = data
    })
  }
  document.addEventListener('visibilitychange', connect)
  connect()
}

/** The toolbar without a profile: it was not stored, or cannot be loaded. */
function createMissing(): HTMLElement {
  const link = createElement(
    'a',
    { class: 'toolbar-link', href: '/_profiler/' },
    'No profile for this page. All profiles',
  )
  const items = createElement('ul', { class: 'toolbar-items' }, createElement('li', { class: 'toolbar-item' }, link))
  return createElement('section', { class: 'toolbar', 'aria-label': 'Profiler toolbar', 'data-status': '–' }, items)
}

/** The toolbar path in the last tag of the page. */
function findTag(): string | undefined {
  const tags = document.querySelectorAll<HTMLElement>(tagName)
  const path = tags[tags.length - 1]?.dataset.profilerToolbar
  // Content of the page could contain such a tag with any other path.
  return path !== undefined && /^\/_wdt\/\w+$/.test(path) ? path : undefined
}

function currentUrl(): string {
  return location.href.replace(/#.*/s, '')
}

// Errors of the toolbar are no errors of the page: its console shows none.
start().catch(() => {})
