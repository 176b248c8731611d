import { t } from 'tap'
import { killWriters } from './writers.ts'

t.test('kl-9: after fifty processes are killed at full load, every profile that they reported is stored', t =>
  killWriters(t, 10),
)
