import { createInterface } from 'node:readline/promises'
import { enqueue } from '../src/commands/enqueue/enqueue.ts'
import { print, printJson, runCommand, say } from '../src/shared/terminal/command.ts'
import { readConfig } from '../src/shared/config.ts'
import { exits, unhandled } from '../src/shared/errors.ts'
import { openIntake, type EnqueueFlags } from '../src/commands/enqueue/intake.ts'
import { openMill } from '../src/commands/mill/mill.ts'
import { Progress } from '../src/commands/enqueue/progress.ts'
import type { EnqueueProgress } from '../src/commands/enqueue/staging.ts'

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
        .option('--budget <credits>', 'most credits the run may use')
        .option('--dry-run', 'show what would be done, and do nothing')
        .option('--yes', 'buy without asking')
        .option('--encoding <name>', 'such as windows-1252, when the file is not UTF-8 or UTF-16')
        .option('--delimiter <sign>', 'comma, semicolon, tab, pipe, or none for one query a line')
        .option('--column <name>', 'name or number of the column of queries')
        .option('--match-types <what>', 'strip takes "phrase", [exact] and +broad signs off')
        .option('--json', 'one JSON object on stdout'),
  },
  async ({ options: flags, args, env, closers }) => {
    const config = readConfig(env)
    const intake = await openIntake({ args, flags, env, config })
    const mill = await openMill({ config, closers, say, name: 'enqueue' })
    const progress = new Progress(process.stderr)
    const tell = (write: (line: string) => void) => (line: string) => {
      progress.clear()
      write(line)
    }
    const person = process.stdin.isTTY && process.stderr.isTTY && !args.includes('-')
    const talk = {
      say: tell(say),
      show: tell(flags.json === true ? say : print),
      progress: (step: EnqueueProgress) => progress.note(() => phrase(step)),
      ask: person ? ask : null,
    }
    const report = await enqueue({ mill, intake, flags, talk, stream: process.stdin })
    progress.clear()
    if (report === null) say('nothing was queued')
    else if (flags.json === true) printJson(report)
    else if (report.dry_run) print('a dry run: nothing was written or queued')
    else print(`next        ${report.open ? 'npm run work -- --drain' : 'npm run status'}`)
    return exits.done
  },
)

function collect(place: string, places: readonly string[] = []): string[] {
  return [...places, place]
}

async function ask(question: string): Promise<boolean> {
  const lines = createInterface({ input: process.stdin, output: process.stderr })
  try {
    return /^y(es)?$/i.test((await lines.question(question)).trim())
  } finally {
    lines.close()
  }
}

function phrase(step: EnqueueProgress): string {
  switch (step.kind) {
    case 'reading':
      return `reading ${step.list}: ${step.lines} lines`
    case 'planning':
      return `planning ${step.list}: ${step.lines} lines`
    case 'queueing':
      return `queueing run ${step.run}: ${step.slices} slices`
    default:
      throw unhandled('step', step)
  }
}
