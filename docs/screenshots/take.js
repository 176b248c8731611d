// Takes the pictures of the documents: `npm run screenshots`, with a Chromium and a PostgreSQL on the PATH.
import { t } from 'tap'
import { openCamera } from './camera.js'
import { takeFrameworks } from './take-frameworks.js'
import { takeSite } from './take-site.js'
import { takeWork } from './take-work.js'

// The helpers of the tests load tap, which would end this program after 30 seconds.
t.setTimeout(0)

const camera = await openCamera()
await takeSite(camera)
await takeFrameworks(camera)
await takeWork(camera)
await camera.close()
