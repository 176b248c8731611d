import { t } from 'tap'
import { proveSamples } from '#tests/support/sample.ts'

// One of three programs: together they run all tests with samples.
t.test('what holds for a sample holds for all of it: part 1', t => proveSamples(t, 0, 3))
