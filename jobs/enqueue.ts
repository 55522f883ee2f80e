// Flags and help text for the `enqueue` command.

import type { EnqueueFlags } from '../src/core/enqueue/flags.ts'
import { runCommand, say } from '../src/base/cli/command.ts'
import { collect } from '../src/base/cli/flags.ts'
import { typed } from '../src/base/cli/text.ts'

await runCommand<EnqueueFlags>({
  name: 'enqueue',
  examples: [
    'npm run enqueue inputs/keywords.csv',
    'npm run enqueue -- inputs/keywords.csv --dry-run',
    'npm run enqueue -- exports/*.csv --country us --device desktop,mobile --budget 500',
    'cat queries.txt | npm run -s enqueue -- - --as queries --json',
  ],
  define: (program) =>
    program
      .argument('<file...>', 'CSV files, or - for standard input')
      .option('--as <name>', 'name of the list (default: the file name)')
      .option('--place <place>', 'location, such as "Austin, Texas"; may be repeated', collect)
      .option('--language <codes>', 'hl values, separated by commas; one query for each value')
      .option('--country <codes>', 'gl values, separated by commas; one query for each value')
      .option('--num <numbers>', 'numbers of results, 1 to 100; one query for each value')
      .option('--device <kinds>', 'desktop, mobile, tablet; one query for each value')
      .option('--priority <number>', '1 (first) to 9')
      .option('--tags <tags>', 'tags, separated by commas')
      .option('--max-age <duration>', 'answers younger than this are reused; 0 disables reuse')
      .option('--budget <credits>', "maximum credits for each list's run")
      .option(
        '--max-credits <credits>',
        'buy nothing if the cost may exceed this number of credits',
      )
      .option('--dry-run', 'show the plan and its cost without changing anything')
      .option('--yes', 'buy without asking')
      .option('--encoding <name>', 'encoding other than UTF-8 and UTF-16, such as windows-1252')
      .option('--delimiter <sign>', 'comma, semicolon, tab or pipe; none if each line is one query')
      .option('--column <name>', 'name or number of the query column')
      .option('--no-header', 'the file has no header; refer to columns by number')
      .option('--map <column=meaning>', 'as in "Market=gl"; may be repeated', collect)
      .option('--decimal <sign>', 'decimal sign, if the numbers are ambiguous: point or comma')
      .option('--sheet <name>', 'table in a spreadsheet or archive; all: read each table as a list')
      .option('--formulas <what>', 'keep: accept cells like =SUM(A1) as queries')
      .option('--numbering <what>', 'strip: remove leading numbers and bullets from queries')
      .option('--comments <what>', 'skip: ignore lines that begin with "# " or //')
      .option('--match-types <what>', 'strip: remove "phrase", [exact] and +broad match signs')
      .option(
        '--join',
        'add the queries to the list with this name, even if that list came from another file',
      )
      .option('--drop', 'cancel open queries that are no longer in the list')
      .option('--keep', 'buy open queries that are no longer in the list'),
  load: async () => async (call) => {
    // The first line of output appears before the program is loaded, because loading takes longer than reading a
    // small list.
    if (process.stderr.isTTY) say(`reading ${call.args.map(typed).join(', ')}`)
    return (await import('../src/core/enqueue/command.ts')).runEnqueue(call)
  },
})
