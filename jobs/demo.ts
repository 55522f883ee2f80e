import type { DemoFlags, StartDrifting } from '../src/commands/demo.ts'
import { runCommand } from '../src/shared/terminal/command.ts'

await runCommand<DemoFlags>(
  {
    name: 'demo',
    about:
      'From nothing to answered tables on this machine, and says where to look. SANDBOX: costs nothing.',
    drains: true,
    examples: [
      'npm run demo',
      'npm run demo -- --nights 30      a history of thirty days to analyse',
    ],
    define: (program) =>
      program
        .option(
          '--nights <n>',
          'make a history of this many days, by buying each of them from a sandbox that drifts',
        )
        .option('--json', 'print what was stored as one JSON object'),
  },
  async (call) => (await import('../src/commands/demo.ts')).runDemo(call, startDrifting),
)

/** Only a job sees both: the mill and the search service are programs that meet over HTTP. */
async function startDrifting(options: Parameters<StartDrifting>[0]) {
  const { startService } = await import('../src/service/start.ts')
  const service = await startService({ ...options, drift: 'demo' })
  const { key } = await service.keys.create({ kind: 'live', credits: 1_000_000 })
  return { url: service.url, key, close: () => service.close() }
}
