// Flags and help of enqueue.

import type { EnqueueFlags } from '../src/core/enqueue/flags.ts'
import { runCommand, say } from '../src/base/cli/command.ts'
import { collect } from '../src/base/cli/flags.ts'
import { typed } from '../src/base/cli/text.ts'

await runCommand<EnqueueFlags>(
  {
    name: 'enqueue',
    about: 'Reads lists of queries, plans a run of each, and queues what has to be bought.',
    examples: [
      'npm run enqueue inputs/keywords.csv',
      'npm run enqueue -- inputs/keywords.csv --dry-run',
      'npm run enqueue -- "exports/*.csv" --country us --device desktop,mobile --budget 500',
      'cat queries.txt | npm run -s enqueue -- - --as queries --json',
    ],
    define: (program) =>
      program
        .argument('<file...>', 'CSV files, patterns in quotes, or - for standard input')
        .option('--as <name>', 'name of the list; otherwise that of the file')
        .option('--place <place>', 'location, such as "Austin, Texas"; may be repeated', collect)
        .option('--language <codes>', 'hl; several with commas multiply out')
        .option('--country <codes>', 'gl; several with commas multiply out')
        .option('--num <numbers>', 'results per query, 1 to 100; several with commas multiply out')
        .option('--device <kinds>', 'desktop, mobile, tablet; several with commas multiply out')
        .option('--priority <number>', '1 (first) to 9')
        .option('--tags <tags>', 'labels, divided by commas')
        .option('--max-age <duration>', 'an answer younger than this is reused; 0 buys all')
        .option('--budget <credits>', 'most credits that the run of each list may use in all')
        .option('--max-credits <credits>', 'buy nothing if all of it may cost more')
        .option('--dry-run', 'show what would be done, and do nothing')
        .option('--yes', 'buy without asking')
        .option('--encoding <name>', 'such as windows-1252, when the file is not UTF-8 or UTF-16')
        .option('--delimiter <sign>', 'comma, semicolon, tab, pipe, or none for one query a line')
        .option('--column <name>', 'name or number of the column of queries')
        .option('--no-header', 'the first line is a row; columns go by their numbers')
        .option('--skip <lines>', 'leave out so many lines at the beginning')
        .option('--map <column=meaning>', 'such as "Market=gl"; may be repeated', collect)
        .option('--weight-column <name>', 'the column that weighs the queries, or none')
        .option('--decimal <sign>', 'point or comma, where numbers leave it open')
        .option('--sheet <name>', 'table of a spreadsheet, or file of an archive')
        .option('--formulas <what>', 'keep takes =SUM(A1) for a query')
        .option('--numbering <what>', 'strip takes numbers and bullets before queries off')
        .option('--comments <what>', 'skip leaves out lines that begin with # or //')
        .option('--match-types <what>', 'strip takes "phrase", [exact] and +broad signs off')
        .option('--join', 'read into a list of this name that came from another file')
        .option(
          '--drop',
          'leave out what its open run has still to buy and the list no longer holds',
        )
        .option('--keep', 'buy that as well')
        .option('--json', 'one JSON object on stdout'),
  },
  async () => async (call) => {
    // A person sees at once that it begins: loading the program takes longer than reading a small list.
    if (process.stderr.isTTY) say(`reading ${call.args.map(typed).join(', ')}`)
    return (await import('../src/core/enqueue/command.ts')).runEnqueue(call)
  },
)
