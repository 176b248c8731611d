import { createElement } from './create-element.ts'
import { Bar } from './toolbar-bar.ts'
import { CallList, findPageToken } from './toolbar-call-list.ts'
import { CallsItem } from './toolbar-calls.ts'
import { loadStyles, loadToolbar } from './toolbar-load.ts'

const tagName = 'script[data-profiler-toolbar]'

/** Milliseconds after a call or a navigation in which scripts have put the new page in its place. */
const settling: readonly number[] = [0, 100, 1000]

/** Shows the record of the page, and of what the page becomes: each new tag names another record. */
async function start(): Promise<void> {
  // A newer version of this file, that came with a part of the page, leaves the bar to the one that is there.
  if (document.querySelector('profiler-toolbar') !== null) return
  let tag = findTag()
  if (tag === undefined) return
  let address = currentAddress()
  let wanted = ''

  const list = new CallList(() => {
    update()
    follow()
  })
  const item = new CallsItem(list, () => {
    list.clear()
    update()
  })
  const bar = new Bar(await loadStyles(new URL('profiler.css', import.meta.url).href), item.element)

  function update(): void {
    item.update()
    bar.tell(item.failures)
  }

  async function show(path: string): Promise<void> {
    if (path === wanted) return
    wanted = path
    const section = await loadToolbar(path, () => path === wanted)
    if (path === wanted) bar.show(section ?? createMissing())
  }

  /** A tag says it for sure; where only a part of the page was loaded, the call that was made for its address does. */
  function look(): void {
    const newest = findTag()
    const isNewTag = newest !== undefined && newest !== tag
    const moved = currentAddress()
    const call =
      moved === address ? undefined : list.calls.find(({ token, url }) => url === moved && token !== undefined)
    if (!isNewTag && call === undefined) return
    address = moved
    if (isNewTag) tag = newest
    void show(isNewTag ? newest : `/_wdt/${call?.token}`)
  }

  function follow(): void {
    for (const delay of settling) setTimeout(look, delay)
  }

  const token = findPageToken()
  void show(token === undefined ? tag : `/_wdt/${token}`)
  list.watch()
  window.addEventListener('popstate', follow)
  new MutationObserver(follow).observe(document.documentElement, { childList: true })
  const { navigation } = window as { navigation?: EventTarget }
  navigation?.addEventListener('currententrychange', follow)
}

/** Stands for a record that was not kept, or cannot be had. */
function createMissing(): HTMLElement {
  const link = createElement(
    'a',
    { class: 'toolbar-link', href: '/_profiler/' },
    'There is no record of this page. All records',
  )
  const items = createElement('ul', { class: 'toolbar-items' }, createElement('li', { class: 'toolbar-item' }, link))
  return createElement('section', { class: 'toolbar', 'aria-label': 'Profiler toolbar', 'data-status': '–' }, items)
}

/** The path of the toolbar that the last tag of the page names. */
function findTag(): string | undefined {
  const tags = document.querySelectorAll<HTMLElement>(tagName)
  const path = tags[tags.length - 1]?.dataset.profilerToolbar
  // Whoever can write into the page, and no more, could name what is another's.
  return path !== undefined && /^\/_wdt\/\w+$/.test(path) ? path : undefined
}

function currentAddress(): string {
  return location.href.replace(/#.*/s, '')
}

// Whatever goes wrong here is not the page's: its console is left alone.
start().catch(() => {})
