// Flags and help text for the `desk` command.

import { runCommand } from '../src/base/cli/command.ts'

await runCommand({
  name: 'desk',
  more: 'The desk only reads the tables.',
  drains: true,
  examples: [
    'npm run desk                                accessible only from this machine, at http://127.0.0.1:8750',
    'npm run desk -- --port 9000',
    'npm run desk -- --host 0.0.0.0 --password-file desk.password',
    'npm run desk -- --password-file desk.password --public-url https://desk.example.com',
  ],
  define: (program) =>
    program
      .option('--port <n>', 'port to listen on, or 0 for any free port (default: 8750)')
      .option(
        '--host <address>',
        'address to listen on; access from other hosts requires a password',
      )
      .option('--password-file <file>', 'file with the password on its first line')
      .option('--public-url <address>', 'public URL of the desk behind a proxy'),
  load: async () => (await import('../src/desk/command.ts')).runDesk,
})
