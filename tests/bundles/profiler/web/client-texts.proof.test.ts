import { t } from 'tap'
import { checkClientTexts } from '#tests/support/stored-xss.ts'

t.test('texts from a client do not change the tags of any page', t => checkClientTexts(t))
