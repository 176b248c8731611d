import { t } from 'tap'
import { checkPart } from '#tests/support/stored-xss.ts'

// One of four programs: together they try all places.
t.test('texts in a profile do not change the tags of any page: part 3', t => checkPart(t, 2))
