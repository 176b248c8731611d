import t from 'tap'
import { findWords, groups, maskForms } from '#lib/redact/secret-forms.ts'
import { isSecretName } from '#lib/redact/secret-names.ts'

/** The examples of the table, each with the bit of its group and its pattern. */
const rows = groups.flatMap(([, forms], index) =>
  Object.entries(forms).flatMap(([examples, pattern]) =>
    examples.split(' ¦ ').map(example => ({ example, pattern, bit: 2 << index })),
  ),
)

t.test('each form of the table masks the secret of its examples, and nothing else', async t => {
  const wrong = rows.flatMap(({ bit, example }) => {
    const masked = maskForms(example.replaceAll('§', ''), isSecretName, bit)
    return masked === example.replace(/§[^§]*§/g, '******') ? [] : [`${example} → ${masked}`]
  })
  t.strictSame(wrong, [])
})

t.test('each pattern finds its examples by itself, with a part before the secret', async t => {
  const wrong = rows.filter(({ example, pattern }) => {
    const found = [...example.replaceAll('§', '').matchAll(pattern)]
    return found.length === 0 || found.some(({ groups }) => groups?.before === undefined)
  })
  t.strictSame(
    wrong.map(({ example }) => example),
    [],
  )
})

t.test('the words of a group are in its examples: a text without them is not read', async t => {
  const wrong = rows.filter(({ bit, example }) => (findWords(example.replaceAll('§', '')) & bit) === 0)
  t.strictSame(
    wrong.map(({ example }) => example),
    [],
  )
})

t.test('a number that is no number of a payment card stays', async t => {
  const numbers = [
    '4111111111111112',
    'id 6011 0009 9013 9425',
    '1796078384000000000',
    '20261130224500123',
    '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
    '41111111-1111-4111-8111-111111111111',
    'x4111111111111111',
    '4111111111111111.5',
    '0.4111111111111111',
  ]
  t.strictSame(
    numbers.filter(number => maskForms(number, isSecretName) !== number),
    [],
  )
})
