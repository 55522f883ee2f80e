// Flags and help text for the `retry` command.

import { runCommand, addYes } from '../src/base/cli/command.ts'
import { runNumber } from '../src/base/cli/flags.ts'

await runCommand({
  name: 'retry',
  more: 'Tasks that have an answer are reopened only with --buy-again.',
  examples: [
    'npm run retry -- --run 12                          previews the failed and unknown tasks of run 12',
    'npm run retry -- --run 12 --yes                    reopens these tasks',
    'npm run retry -- --list keywords --state failed --yes',
    'npm run retry -- --error TIMEOUT --since 12h --yes',
    'npm run retry -- --run 12 --state unaffordable --budget 900 --yes',
    'npm run retry -- --run 12 --state not_asked --yes  buys the queries that the run skipped',
    'npm run retry -- --run 12 --buy-again --yes        buys answers a second time',
    'npm run retry -- --run 12 --buy-again --error OTHER_QUERY --yes',
    '                                                   only tasks whose answer was for another query',
  ],
  define: (program) =>
    addYes(program)
      .option('--run <n>', 'only this run', runNumber)
      .option('--list <name>', 'only runs of this list')
      .option(
        '--state <states>',
        'one or more of failed, unknown, unaffordable, not_asked',
        'failed,unknown',
      )
      .option(
        '--error <code>',
        'only tasks that ended with this error code; --buy-again also accepts UNREADABLE, OTHER_QUERY and PAID_REFUSAL',
      )
      .option('--tag <label>', 'only tasks of queries with this tag')
      .option(
        '--since <when>',
        'only tasks that ended since this date, or within this duration, such as 12h',
      )
      .option('--budget <credits>', 'new budget for each run, including credits already used')
      .option('--buy-again', 'also reopen tasks that have an answer, and pay for a second answer'),
  load: async () => (await import('../src/core/runs/retry.ts')).runRetry,
})
