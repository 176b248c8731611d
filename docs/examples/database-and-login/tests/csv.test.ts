import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toCsv } from '../bundles/csv.ts'

test('no cell of a table is a formula', async () => {
  const formulas = ['=1', '+1', '-1', '@A1', '\t=1', '\r=1', ' =1', '＝1']
  assert.deepEqual(
    formulas.filter(text => !toCsv([[text]]).startsWith('"\'')),
    [],
  )
  assert.equal(toCsv([['a=1', 'a "quoted", text', null, 7]]), '"a=1","a ""quoted"", text","","7"\r\n')
})
