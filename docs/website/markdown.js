import highlight from 'highlight.js'
import anchor from 'markdown-it-anchor'

/** The title of a document: its first heading, as text. */
export function toTitle(markdown) {
  return (/^# (.+)$/m.exec(markdown)?.[1] ?? '').replaceAll('`', '')
}

/** The anchor of a heading, made as GitHub does it: the same links work in both. */
export function toAnchor(title) {
  return title
    .toLowerCase()
    .replace(/[^\p{Letter}\p{Number}\s_-]/gu, '')
    .replaceAll(' ', '-')
}

/** Sets up links, anchors, code and tables of the pages. */
export function setUpMarkdown(markdown) {
  markdown.set({ html: false, highlight: (code, language) => toCode(markdown, code, language) })
  markdown.use(anchor, {
    slugify: toAnchor,
    permalink: anchor.permalink.linkAfterHeader({
      style: 'visually-hidden',
      assistiveText: title => `Link to “${title}”`,
      visuallyHiddenClass: 'hidden',
      symbol: '#',
      wrapper: ['<div class="heading">', '</div>'],
    }),
  })
  // The marks of generated blocks are for `npm run references` only.
  markdown.core.ruler.before('block', 'marks', state => {
    state.src = state.src.replace(/^<!-- (?:begin: .*|end) -->$/gm, '')
  })
  const { rules } = markdown.renderer
  rules.link_open = (tokens, index, options, _, self) => {
    tokens[index].attrSet('href', toPage(tokens[index].attrGet('href')))
    return self.renderToken(tokens, index, options)
  }
  // A head without text is no head.
  rules.th_open = (tokens, index, options, _, self) => {
    if (tokens[index + 1].content === '') tokens[index].tag = tokens[index + 2].tag = 'td'
    return self.renderToken(tokens, index, options)
  }
  // Wide tables scroll by themselves, also by the keyboard.
  rules.table_open = () => '<div class="table" role="group" aria-label="Table" tabindex="0"><table>\n'
  rules.table_close = () => '</table></div>\n'
}

/** The address of a link in the website: documents are pages there. */
function toPage(link) {
  if (/^[a-z]+:/.test(link)) return link
  const [file, fragment] = link.split('#')
  const page = file
    .replace(/(^|\/)README\.md$/, '$1index.html')
    .replace(/\.md$/, '.html')
    .replace(/\/$/, '/index.html')
  return fragment === undefined ? page : `${page}#${fragment}`
}

function toCode(markdown, code, language) {
  const known = highlight.getLanguage(language) === undefined ? 'plaintext' : language
  const { value } = highlight.highlight(code, { language: known })
  return `<pre tabindex="0" data-language="${markdown.utils.escapeHtml(language)}"><code>${value}</code></pre>\n`
}
