// Takes the pictures of the documents: `npm run screenshots`, with a Chromium and a PostgreSQL on the PATH.
import { openCamera } from './camera.js'
import { takeFrameworks } from './take-frameworks.js'
import { takeSite } from './take-site.js'

const camera = await openCamera()
await takeSite(camera)
await takeFrameworks(camera)
await camera.close()
