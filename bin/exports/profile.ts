// For `node --import sinfonietta/profile app.js`: makes profiles of the requests of all HTTP servers of the process.
import '../profiling/profile-process.ts'
