import { t } from 'tap'
import { openPage, runScript } from './page.ts'
import { Stream } from './stream.ts'

const armed = '<div data-armed="/_profiler/live?"></div>'

t.test('the page that waits goes on to the profile when it is stored', async t => {
  const page = openPage(t, armed, 'http://localhost/_profiler/cpu')
  page.replace('EventSource', Stream)
  const opened: string[] = []
  const location = {
    hash: '',
    href: 'http://localhost/_profiler/cpu',
    assign: (url: string) => opened.push(url),
    reload: () => opened.push(''),
  }
  page.replace('location', location)
  const pages = new Map([[location.href, armed]])
  page.replace('fetch', async (url: string) => {
    const html = pages.get(url)
    return { ok: html !== undefined, status: 404, url, text: async () => html ?? '' }
  })
  const send = async (type: string) => {
    stream?.send(type)
    await page.settle()
  }
  await runScript()
  const stream = Stream.opened.at(-1)
  await send('open')
  t.strictSame([opened, stream?.isClosed], [[], false], 'it still waits')
  pages.set(location.href, '<a data-sampled href="/_profiler/abc123?panel=cpu">abc123</a>')
  await send('profiles')
  t.strictSame([opened, stream?.isClosed], [[], false], 'the request is handled')
  pages.set('http://localhost/_profiler/abc123?panel=cpu', '<p>profile</p>')
  await send('profiles')
  t.strictSame([opened.splice(0), stream?.isClosed], [['http://localhost/_profiler/abc123?panel=cpu'], true])
  pages.set(location.href, '<p>No CPU profile scheduled.</p>')
  await runScript()
  Stream.opened.at(-1)?.send('reload')
  await page.settle()
  t.strictSame(opened, [''], 'another process may have sampled it')
})

const bar = (name: string, row: number, width: number) =>
  `<a href="#"><svg y="${row}em" width="${width}%"><title>${name}: 1 ms; src/${name}.ts</title></svg></a>`

t.test('a search highlights frames, and shows their share without counting a frame twice', async t => {
  const bars = [
    bar('all', 0, 100),
    bar('load', 1, 40),
    bar('loadMore', 2, 30),
    bar('other', 1, 10),
    bar('load', 2, 5.5),
  ]
  const page = openPage(t, `<div class="flame-head"></div><svg class="flame">${bars.join('')}</svg>`)
  await runScript()
  const found = () => [document.querySelectorAll('.is-match').length, page.find('.found').textContent]
  page.enter('[type="search"]', ' LOAD ')
  t.strictSame(found(), [3, '3 frames, 45.5 %'])
  t.ok(document.querySelector('.flame.is-searching'))
  page.enter('[type="search"]', 'all.ts')
  t.strictSame(found(), [1, '1 frame, 100.0 %'])
  page.enter('[type="search"]', 'nothing')
  t.strictSame(found(), [0, '0 frames, 0.0 %'])
  page.enter('[type="search"]', '')
  t.strictSame([found(), document.querySelector('.is-searching')], [[0, ''], null])
})

t.test('a search also ends with a frame that has no place in the picture', async t => {
  const broken = '<a href="#"><svg><title>broken: 1 ms</title></svg></a>'
  const page = openPage(t, `<div class="flame-head"></div><svg class="flame">${broken}${bar('load', 0, 40)}</svg>`)
  await runScript()
  page.enter('[type="search"]', 'load')
  t.equal(page.find('.found').textContent, '1 frame, 40.0 %')
})
