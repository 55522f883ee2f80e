// Flags and help text for the `work` command.

import type { WorkFlags, WorkParts } from '../src/core/worker/command.ts'
import { runCommand } from '../src/base/cli/command.ts'

/** Features that this job passes to the worker, because only a job may import other features. */
const beside: WorkParts = {
  afterRuns: async (...args) =>
    (await import('../src/features/alerts/find-alerts.ts')).endNights(...args),
  monitor: async (...args) =>
    (await import('../src/features/notifications/monitor.ts')).startMonitor(...args),
}

await runCommand<WorkFlags>({
  name: 'work',
  drains: true,
  examples: [
    'npm run work                                runs until you stop it; waits while the account is stopped',
    'npm run work -- --drain                     ends when no tasks are open',
    'npm run -s work -- --drain --json           ends when no tasks are open, and prints totals as JSON',
    'npm run work -- --concurrency 32            up to 32 calls in flight at once',
  ],
  define: (program) =>
    program
      .option('--drain', 'end when no tasks are open or the account is stopped')
      .option('--concurrency <n>', 'maximum calls in flight at once (MILL_CONCURRENCY)'),
  load: async () => {
    const { runWork } = await import('../src/core/worker/command.ts')
    return (call) => runWork(call, beside)
  },
})
