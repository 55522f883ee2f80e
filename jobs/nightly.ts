// Flags and help text for the `nightly` command.

import type { NightlyFlags, NightlyParts } from '../src/core/scheduler/command.ts'
import { runCommand } from '../src/base/cli/command.ts'

/** Features that this job passes to the scheduler, because only a job may import other features. */
const beside: NightlyParts = {
  afterRuns: async (...args) =>
    (await import('../src/features/alerts/find-alerts.ts')).endNights(...args),
  chooseQueries: async (...args) =>
    (await import('../src/features/cadence/choose.ts')).decideByName(...args),
  monitor: async (...args) =>
    (await import('../src/features/notifications/monitor.ts')).startMonitor(...args),
  sendNotices: async (...args) =>
    (await import('../src/features/notifications/news.ts')).sendBeforeEnd(...args),
}

await runCommand<NightlyFlags>({
  name: 'nightly',
  drains: true,
  examples: [
    'npm run nightly                             starts a scheduler; several can run at once',
    'npm run nightly -- --show                   lists schedules with their next due times and last outcomes',
    'npm run nightly -- --once                   starts the runs that are due and exits, for cron or a systemd timer',
    'npm run -s nightly -- --show --json',
  ],
  define: (program) =>
    program
      .option('--show', 'list the schedules and exit')
      .option('--once', 'start the runs that are due and exit')
      .option('--file <path>', 'path of another schedules file'),
  load: async () => {
    const { runNightly } = await import('../src/core/scheduler/command.ts')
    return (call) => runNightly(call, beside)
  },
})
