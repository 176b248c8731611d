// The first import of each program: an older Node.js lacks names that the others import. As `engines` of package.json.
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 20 || (major === 20 && minor < 20)) {
  process.stderr.write(
    `Node.js ${process.versions.node} (${process.execPath}) is too old: 20.20.2 or later is needed.\n`,
  )
  process.exit(1)
}
