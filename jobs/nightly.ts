// Flags and help of nightly.

import type { NightlyFlags, NightlyParts } from '../src/core/scheduler/command.ts'
import { runCommand } from '../src/base/cli/command.ts'

/** Only a job sees all of them: what features add to the scheduler. */
const beside: NightlyParts = {
  afterRuns: async (...args) =>
    (await import('../src/features/alerts/find-alerts.ts')).endNights(...args),
  chooseQueries: async (...args) =>
    (await import('../src/features/cadence/choose.ts')).decideByName(...args),
  monitor: async (...args) =>
    (await import('../src/features/notifications/monitor.ts')).startMonitor(...args),
  sendNotices: async (...args) =>
    (await import('../src/features/notifications/news.ts')).sendBeforeEnd(...args),
  desk: async (...args) => (await import('../src/desk/command.ts')).startDeskBeside(...args),
}

await runCommand<NightlyFlags>(
  {
    name: 'nightly',
    about: 'Starts the runs of inputs/config/schedules.csv when they are due.',
    drains: true,
    examples: [
      'npm run nightly                             the scheduler; any number of them may run',
      'npm run nightly -- --show                   schedules, their next times, what became of the last one',
      'npm run nightly -- --once                   does what is due and ends: for cron or a systemd timer',
      'npm run -s nightly -- --show --json',
      'npm run nightly -- --desk                   with the page where people look beside it',
    ],
    define: (program) =>
      program
        .option('--show', 'list the schedules and end')
        .option('--once', 'do what is due and end')
        .option('--desk [port]', 'serve the desk beside it, on this machine alone (port 8750)')
        .option('--json', 'with --show: print one JSON object')
        .option('--file <path>', 'another file of schedules'),
  },
  async () => {
    const { runNightly } = await import('../src/core/scheduler/command.ts')
    return (call) => runNightly(call, beside)
  },
)
