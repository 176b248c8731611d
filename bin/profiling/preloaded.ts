// `node --import sinfonietta app.js` would have no effect, without a word.
if (/(?:--import|--require|-r)[= ]sinfonietta(?:$|\s)/.test([process.env.NODE_OPTIONS, ...process.execArgv].join(' ')))
  process.stderr.write('Nothing is profiled: write --import sinfonietta/profile instead of --import sinfonietta.\n')
