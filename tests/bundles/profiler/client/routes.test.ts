import { t } from 'tap'
import { openPage, runScript } from './page.ts'
import { Stream } from './stream.ts'

const statistics = (count: number, id = 'route-statistics') =>
  `<section id="${id}" data-live="/_profiler/live?route=a" data-newest="aaaaaa"><h1>${count} requests</h1><div class="live"></div><table><tbody></tbody></table></section>`

t.test('the statistics follow new requests', async t => {
  const page = openPage(t, statistics(1))
  let served = statistics(2)
  let requests = 0
  page.replace('EventSource', Stream)
  page.replace('fetch', async (url: string) => {
    requests++
    if (served === '') throw new Error('ECONNREFUSED')
    return { ok: true, url, text: async () => served }
  })
  await runScript()
  const stream = Stream.opened.at(-1)
  const send = async () => {
    stream?.send('profiles', `00000${requests}`)
    await page.pass(1000)
  }
  t.equal(stream?.url, '/_profiler/live?route=a&after=aaaaaa')
  stream?.send('open')
  await send()
  t.equal(page.find('h1').textContent, '2 requests')
  served = statistics(3)
  await send()
  t.equal(page.find('h1').textContent, '3 requests')
  t.equal(page.find('.live-state').textContent, 'Live')
  served = ''
  await send()
  t.equal(page.find('h1').textContent, '3 requests', 'the server restarts')
  served = '<p>another page</p>'
  await send()
  t.equal(page.find('h1').textContent, '3 requests')
  document.body.innerHTML = '<p>Another page</p>'
  await runScript()
  document.body.innerHTML = statistics(1, 'route')
  await runScript()
  t.equal(page.find('.live-state').textContent, '')
})
