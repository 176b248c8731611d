import { t } from 'tap'
import { needsBrowser } from '#tests/support/browser.ts'
import { testAccessibility } from '#tests/support/screen-checks.ts'

t.test('axe finds nothing on any screen, in light and dark, narrow and wide', needsBrowser, t =>
  testAccessibility(t, name => !/^(?:panel|exported) /.test(name)),
)
