import { t } from 'tap'
import { proveSamples } from '#tests/support/sample.ts'

t.test('what holds for a sample holds for all of it', proveSamples)
