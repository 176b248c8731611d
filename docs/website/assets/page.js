import { options, settings } from './search-settings.js'
import { chooseTheme } from './theme.js'

chooseTheme(document.querySelector('button.theme'))

/** The search, whose index is loaded when the field is first used, and the place of the page in the contents. */
const root = new URL('..', import.meta.url)
const search = document.querySelector('.search')
const field = search.querySelector('input')
const results = search.querySelector('.results')
const list = results.querySelector('ul')
const status = results.querySelector('[role=status]')

const most = 12
let loading

function load() {
  loading ??= Promise.all([
    import('./minisearch.js'),
    fetch(new URL('assets/search-index.json', root)).then(response => response.text()),
  ]).then(([{ default: MiniSearch }, index]) => MiniSearch.loadJSON(index, settings))
  return loading
}

async function show() {
  const words = field.value.trim()
  const index = await load()
  // A slow index must not answer an older question.
  if (words !== field.value.trim()) return
  const found = words === '' ? [] : index.search(words, options).slice(0, most)
  results.hidden = words === ''
  status.textContent = found.length === 0 ? 'Nothing was found.' : `${found.length} results`
  status.classList.toggle('hidden', found.length > 0)
  list.replaceChildren(...found.map(toItem))
}

function toItem({ id, title, page, excerpt }) {
  const link = document.createElement('a')
  link.href = new URL(id, root).href
  const lines = [title, page === title ? '' : page, excerpt].filter(text => text !== '')
  const tags = page === title ? ['strong', 'span'] : ['strong', 'em', 'span']
  lines.forEach((text, at) => {
    const part = document.createElement(tags[at])
    part.textContent = text
    link.append(part)
  })
  const item = document.createElement('li')
  item.append(link)
  return item
}

/** Moves the focus through the field and the results. */
function move(step) {
  const stops = [field, ...list.querySelectorAll('a')]
  stops[Math.min(Math.max(stops.indexOf(document.activeElement) + step, 0), stops.length - 1)].focus()
}

function close() {
  results.hidden = true
}

field.addEventListener('input', show)
field.addEventListener('focus', () => {
  load()
  results.hidden = field.value.trim() === ''
})
search.addEventListener('submit', event => {
  event.preventDefault()
  list.querySelector('a')?.click()
})
search.addEventListener('keydown', event => {
  if (event.key === 'ArrowDown') move(1)
  else if (event.key === 'ArrowUp') move(-1)
  else if (event.key === 'Escape') {
    field.focus()
    close()
  } else return
  event.preventDefault()
})
search.addEventListener('focusout', ({ relatedTarget }) => {
  if (!search.contains(relatedTarget)) close()
})
list.addEventListener('click', close)
document.addEventListener('keydown', event => {
  const isTyping =
    event.target instanceof Element && event.target.closest('input, textarea, [contenteditable]') !== null
  if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return
  event.preventDefault()
  field.focus()
})
search.hidden = false

const contents = document.querySelector('.contents')
const current = contents.querySelector('[aria-current]')
// The contents may be longer than the window.
if (current) contents.scrollTop = current.offsetTop - contents.clientHeight / 2
