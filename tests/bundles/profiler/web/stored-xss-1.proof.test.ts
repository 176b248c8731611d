import { t } from 'tap'
import { checkPlaces, choosePart } from '#tests/support/stored-xss.ts'

// One of four programs: together they try all places.
t.test('texts in a profile do not change the tags of any page: part 1', t =>
  checkPlaces(t, { choose: choosePart(0, 4) }),
)
