// Ends every test run with one plain line that people and scripts can read: `120 passed, 0 failed, 2 skipped`.

export default class ClosingLineReporter {
  onTestRunEnd(testModules, unhandledErrors) {
    const line = closingLine(testModules, unhandledErrors)
    // Written at exit, because the default reporter and vitest itself may still print after this method.
    process.once('exit', () => process.stdout.write(`\n${line}\n`))
  }
}

function closingLine(testModules, unhandledErrors) {
  const count = { passed: 0, failed: unhandledErrors.length, skipped: 0, pending: 0 }
  for (const testModule of testModules) {
    for (const test of testModule.children.allTests()) count[test.result().state] += 1
    count.failed += failuresOutsideTests(testModule)
  }
  // A test that never reached a result (the run was interrupted, its worker died) did not pass.
  const failed = count.failed + count.pending
  const skipped = count.skipped > 0 ? `, ${count.skipped} skipped` : ''
  return `${count.passed} passed, ${failed} failed${skipped}`
}

// A file that cannot be loaded, or a hook of a suite that throws, has no failed test of its own but is a failure.
function failuresOutsideTests(testModule) {
  const suites = [...testModule.children.allSuites()]
  return [testModule, ...suites].filter((suite) => suite.errors().length > 0).length
}
