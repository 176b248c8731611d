import { t } from 'tap'
import { Redactor } from '#lib/redact/redactor.ts'

const redactor = new Redactor({ APP_SECRET: 'hunter2-hunter2' })

t.test('a URL is masked pair by pair, as its reader decodes them', async t => {
  for (const [url, masked] of Object.entries({
    "/x?password=hun'Xk7Canary9&a=1": '/x?password=******&a=1',
    '/x?password="Xk7Canary9"\',Xk7Canary9<b>`Xk7Canary9&a=1': '/x?password=******&a=1',
    '/x?filter=%7B%22password%22%3A%22Xk7Canary9%22%7D&a=1': '/x?filter=%7B%22password%22%3A%22******%22%7D&a=1',
    '/x?filter={"password":"Xk7Canary9"}': '/x?filter=%7B%22password%22%3A%22******%22%7D',
    '/x?h=Bearer%20Xk7Canary9': '/x?h=Bearer%20******',
    '/x?h=Bearer+Xk7Canary9': '/x?h=Bearer%20******',
    '/x?next=%252Fcb%253Ftoken%253DXk7Canary9': '/x?next=%252Fcb%253Ftoken%253D******',
    '/x?next=%2Fcb%3Fto%3D%252Fa%253Ftoken%253DXk7Canary9%2526b%253D1':
      '/x?next=%2Fcb%3Fto%3D%252Fa%253Ftoken%253D******%2526b%253D1',
    'https://me:Xk7Canary9@host/?a=1#b': 'https://******@host/?a=1#b',
    '/cb#access_token=Xk7Canary9&state=1': '/cb#access_token=******&state=1',
    '/cb?code=Xk7Canary9&state=1': '/cb?code=******&state=1',
    '/cb?code=Xk7Canary9&grant_type=authorization_code': '/cb?code=******&grant_type=authorization_code',
    '?p%61ssword=Xk7Canary9': '?p%61ssword=******',
    '/x?ghp_Xk7Canary9Xk7Canary9&a': '/x?******&a',
    '/x?hunter2-hunter2=1': '/x?******=1',
  })) {
    t.notMatch(masked, /Canary/)
    t.equal(redactor.text(url), masked)
    t.equal(redactor.text(masked), masked, 'again')
  }
})

t.test('a URL without a secret stays as it was written', async t => {
  for (const url of [
    '/x?a=b+c%20d&e=%zz&f&=&&token=#g',
    'https://host/?code=ENOENT&to=https%3a%2F%2Fhost%2F',
    '/x?q=it%27s&r=a=b',
    '/x?mail=a%40b',
  ]) {
    t.equal(redactor.text(url), url)
  }
})
