// For `require('sinfonietta/profile')`: the profiler is ready before the application only where the import is awaited.
throw new Error(
  'sinfonietta/profile cannot be required: write node --import sinfonietta/profile app.js, or sinfonietta profile app.js.',
)
