// `node --import sinfonietta app.js` would have no effect, without a word.
const [wrong] =
  /(?:--import|--require|-r)[= ]sinfonietta(?!\/profile$|\/profile\s)(?:\/\w+)*(?=$|\s)/.exec(
    // Node takes quotes in the variable.
    [process.env.NODE_OPTIONS?.replaceAll('"', ''), ...process.execArgv].join(' '),
  ) ?? []
if (wrong !== undefined)
  process.stderr.write(`Nothing is profiled: write --import sinfonietta/profile instead of ${wrong}.\n`)
