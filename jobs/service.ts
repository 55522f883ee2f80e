// Flags and help text for the `service` command.

import type { ServiceFlags } from '../src/service/command.ts'
import { runCommand } from '../src/base/cli/command.ts'

await runCommand<ServiceFlags>({
  name: 'service',
  more: 'Test keys return invented answers; live keys return real pages.',
  examples: ['npm run service -- --port 8787', 'npm run service -- --port 8787 --upstream mock'],
  drains: true,
  define: (program) =>
    program
      .option('--port <n>', 'port to listen on, or 0 for any free port', '0')
      .option('--host <address>', 'address to listen on', '127.0.0.1')
      .option(
        '--upstream <name>',
        'source of answers for live keys: local, searxng or mock; default: UPSTREAM',
      )
      .option('--public-url <address>', 'public URL of the service; default: SERVICE_PUBLIC_URL')
      .option('--log <what>', 'requests or none', 'requests'),
  load: async () => (await import('../src/service/command.ts')).runService,
})
