import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { mergeScriptCovs } from '@bcoe/v8-coverage'
import v8ToIstanbul from 'v8-to-istanbul'

/**
 * The coverage of the product, as Node itself measures it in each process that starts with the variable `NODE_V8_COVERAGE`: nothing is
 * loaded into these processes, and their environment passes it on.
 */
export function measureCoverage(root) {
  const folder = path.join(root, 'var/coverage')
  const product = ['lib', 'kernel', 'bundles', 'bin'].map(name => `${pathToFileURL(path.join(root, 'dist', name))}/`)
  const sum = path.join(folder, 'sum.json')
  /** @type {Map<string, object>} The sum of all processes for each file of the product, by its path. */
  const files = new Map()
  return { begin, collect, judge }

  /** Begins anew, or goes on with what the last run has measured. */
  function begin({ isContinued }) {
    if (!isContinued) fs.rmSync(folder, { recursive: true, force: true })
    fs.mkdirSync(folder, { recursive: true })
    process.env.NODE_V8_COVERAGE = folder
  }

  /** Adds the reports of the processes that have ended. Together, those of a whole run would fill gigabytes. */
  function collect() {
    const found = new Map()
    for (const name of fs.readdirSync(folder)) {
      for (const script of takeReport(path.join(folder, name)) ?? []) {
        if (!product.some(prefix => script.url.startsWith(prefix))) continue
        // Tests import some files more than once, by addresses that differ in their query.
        const file = fileURLToPath(script.url)
        found.set(file, [...(found.get(file) ?? []), { ...script, url: file }])
      }
    }
    for (const [file, scripts] of found) {
      const known = files.get(file)
      files.set(file, mergeScriptCovs(known === undefined ? scripts : [known, ...scripts]))
    }
  }

  /**
   * Prints the functions of the product that no test has called, and the share of the branches that were taken. Returns 1 if there is
   * such a function, or if too few branches are taken. If the tests have failed, only keeps the sum for the next run.
   */
  async function judge({ hasPassed, print }) {
    collect()
    if (!hasPassed) {
      fs.writeFileSync(
        sum,
        JSON.stringify({
          result: Array.from(files.values(), each => ({ ...each, url: pathToFileURL(each.url).href })),
        }),
      )
      return 1
    }
    const leastShare = 0.97
    // Scripts for browsers are no product that Node runs: they have no map that leads to a source.
    const isSource = ({ path: file }) => !file.startsWith(path.join(root, 'dist'))
    const sources = (await Promise.all(Array.from(files.values(), toSources))).flat().filter(isSource)
    const uncalled = sources.flatMap(({ f, fnMap, path: file }) =>
      Object.keys(fnMap)
        .filter(id => f[id] === 0)
        .map(id => `${path.relative(root, file)}:${fnMap[id].line} ${fnMap[id].name}`),
    )
    const branches = sources.flatMap(({ b }) => Object.values(b).flat())
    const share = branches.filter(count => count > 0).length / branches.length
    for (const name of uncalled) print(`# not called: ${name}`)
    print(`# ${(share * 100).toFixed(2)} % of the branches are taken (at least ${leastShare * 100} %)`)
    return uncalled.length > 0 || share < leastShare ? 1 : 0
  }
}

/** The scripts of a report, which is removed. `undefined` while a process still writes it. */
function takeReport(file) {
  try {
    const { result } = JSON.parse(fs.readFileSync(file, 'utf8'))
    fs.rmSync(file)
    return result
  } catch {
    return undefined
  }
}

/** The functions and branches of the sources from which a file was compiled. */
async function toSources({ functions, url }) {
  const converter = v8ToIstanbul(url)
  await converter.load()
  converter.applyCoverage(functions)
  return Object.values(converter.toIstanbul())
}
