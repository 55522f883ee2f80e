// Flags and help text for the `demo` command.

import type { DemoFlags, StartDrifting, StartSpoilt } from '../src/features/demo/command.ts'
import { runCommand } from '../src/base/cli/command.ts'

const starts = { drifting: startDrifting, spoilt: startSpoilt }

await runCommand<DemoFlags>({
  name: 'demo',
  more: 'The answers are marked SANDBOX.',
  drains: true,
  examples: [
    'npm run demo                     fourteen nights, one of them left out as suspect',
    'npm run demo -- --nights 30      a history of thirty days to analyse',
    'npm run demo -- --nights 30 --faults    a month with faults, and the resulting notices',
    'npm run demo -- --nights 60 --cadence   thirty nights with a daily cadence, thirty with an adaptive cadence, and the credits saved',
  ],
  define: (program) =>
    program
      .option('--nights <n>', 'create a history of this many days without faults')
      .option(
        '--faults',
        'make six nights fail on purpose, and list the commands that show what happened',
      )
      .option('--cadence', 'use an adaptive cadence in the second half of the history'),
  load: async () => {
    const { runDemo } = await import('../src/features/demo/command.ts')
    return (call) => runDemo(call, starts)
  },
})

/** Starts the search service, which is a separate program. Only a job may import both querymill and the service. */
async function startDrifting(options: Parameters<StartDrifting>[0]) {
  const { startService } = await import('../src/service/start.ts')
  const service = await startService({ ...options, drift: 'demo' })
  const { key } = await service.keys.create({ kind: 'live', credits: 1_000_000 })
  return { url: service.url, key, close: () => service.close() }
}

async function startSpoilt({ credits, ...options }: Parameters<StartSpoilt>[0]) {
  const service = await startDrifting(options)
  const { openFront } = await import('../src/features/demo/spoiling-front.ts')
  const front = await openFront(service.url, credits)
  const close = async () => {
    await front.close()
    await service.close()
  }
  return { ...front, key: service.key, close }
}
