// npm run test:times: the forty slowest files of the last test run, and its total duration.
import { readFileSync } from 'node:fs'
import { timesFile, type Times } from './reporter.ts'

const { seconds, tests, files } = JSON.parse(readFileSync(timesFile, 'utf8')) as Times
const dearest = Object.entries(files).toSorted(([, one], [, other]) => other - one)
for (const [file, took] of dearest.slice(0, 40)) {
  process.stdout.write(`${took.toFixed(1).padStart(8)} s  ${file}\n`)
}
process.stdout.write(`${seconds.toFixed(0)} s for ${tests} tests in ${dearest.length} files\n`)
