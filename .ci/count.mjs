// node .ci/count.mjs FILE STATUS: "passed failed skipped" of one run of vitest, from its JSON.
// node .ci/count.mjs FILE --unfinished: the files with tests that began and never ended.
// node .ci/count.mjs FILE --red: the red tests, each with the start of its message.
// Tests of the other suite are not counted. REQUIRE_PARTS=1 makes a test that lacks its part a failure.
import { readFileSync } from 'node:fs'

const [file, status] = process.argv.slice(2)

function count() {
  let report
  try {
    report = JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    process.stderr.write('the run of tests left no result\n')
    return { passed: 0, failed: 1, skipped: 0 }
  }
  const tests = report.testResults.flatMap((result) => result.assertionResults)
  const skipped = tests.filter((test) => test.status !== 'passed' && test.status !== 'failed')
  const passed = tests.filter((test) => test.status === 'passed').length
  const failed = tests.filter((test) => test.status === 'failed').length
  // A file that does not load, or an error between tests, has no test that is red.
  const unseen = failed === 0 && (status === 'failed' || passed === 0) ? 1 : 0
  return { passed, failed: failed + unseen, skipped: skipped.length }
}

function unfinished() {
  try {
    const { testResults } = JSON.parse(readFileSync(file, 'utf8'))
    // A file that failed keeps the run red, whatever else was lost.
    if (testResults.some((result) => result.status === 'failed')) return []
    return testResults
      .filter((result) => result.assertionResults.some(({ status: end }) => end === 'pending'))
      .map(({ name }) => name)
  } catch {
    return []
  }
}

function red() {
  try {
    const { testResults } = JSON.parse(readFileSync(file, 'utf8'))
    return testResults.flatMap(({ name, status: end, message, assertionResults }) => {
      const tests = assertionResults.filter((test) => test.status === 'failed')
      if (end === 'failed' && tests.length === 0) return [`${name}\n${message.slice(0, 1500)}`]
      return tests.map((test) => {
        const reason = test.failureMessages.join('\n').slice(0, 1500)
        return `${name}: ${test.fullName}\n${reason}`
      })
    })
  } catch {
    return ['the run left no result']
  }
}

if (status === '--unfinished') {
  process.stdout.write(`${unfinished().join(' ')}\n`)
} else if (status === '--red') {
  process.stdout.write(`${red().join('\n\n')}\n`)
} else {
  const { passed, failed, skipped } = count()
  process.stdout.write(`${passed} ${failed} ${skipped}\n`)
}
