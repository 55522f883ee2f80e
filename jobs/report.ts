import type { ReportOptions } from '../src/commands/report/report.ts'
import { runCommand } from '../src/shared/terminal/command.ts'

await runCommand<ReportOptions>(
  {
    name: 'report',
    about:
      'Writes one page of pictures: runs, credits, rank history, movers and share of voice. It needs no network.',
    examples: [
      'npm run report -- --to report.html',
      'npm run report -- --to report.html --domains example.com,example.org',
      'npm run report -- --to report.html --tag brand --origins live,sandbox',
    ],
    define: (program) =>
      program
        .option('--to <file>', 'the file to write')
        .option('--domains <list>', 'domains to follow, three at most (default: ours)')
        .option('--tag <label>', 'share of voice over queries with this label', '*')
        .option('--origins <list>', 'kinds of answers to show, as in live,sandbox'),
  },
  async (call) => (await import('../src/commands/report/report.ts')).writeReport(call),
)
