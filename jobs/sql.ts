import { pipeline } from 'node:stream/promises'
import { print, printJson, runCommand, say } from '../src/shared/terminal/command.ts'
import { readConfig } from '../src/shared/config.ts'
import { readDuration } from '../src/shared/time/duration.ts'
import { exits, Misuse } from '../src/shared/errors.ts'

interface Options {
  readonly format: 'table' | 'csv' | 'json'
  readonly json?: true
  readonly timeout: string
  readonly origins?: string
  readonly most: string
}

// What Postgres counts a time limit to.
const longestMs = 2 ** 31 - 1

await runCommand<Options>(
  {
    name: 'sql',
    about:
      'Asks the tables: a question of the library (npm run sql lists them), or any SQL that reads.',
    examples: [
      'npm run sql',
      'npm run sql -- fell_out',
      'npm run sql -- rank_history --q "running shoes" --domain example.com',
      'npm run sql -- "select * from analysis.movers limit 5" --format csv',
    ],
    define: (program) =>
      program
        .argument('[question]', 'name of a question, or SQL in quotes')
        .argument('[parameters...]', 'parameters of the question, as --name value')
        .allowUnknownOption()
        .option('--format <format>', 'table, csv or json', 'table')
        .option('--json', 'the same as --format json')
        .option('--timeout <duration>', 'how long the database may think', '60s')
        .option('--origins <list>', 'kinds of answers to show, as in live,sandbox')
        .option('--most <n>', 'rows of a table at most', '200'),
  },
  async ({ options, args, env, closers }) => {
    const { answerFormats, answerQuestion, describeLibrary, findQuestion } =
      await import('../src/commands/sql/ask.ts')
    const format = options.json === true ? 'json' : options.format
    if (!answerFormats.includes(format)) {
      throw new Misuse(`expected --format to be one of ${answerFormats.join(', ')}, got ${format}`)
    }
    const [typed, ...flags] = args
    if (typed === undefined) {
      if (format === 'json')
        printJson((await import('../src/commands/sql/questions.ts')).readQuestions())
      else print(describeLibrary())
      return exits.done
    }
    const question = findQuestion(typed, flags)
    const timeoutMs = readDuration(options.timeout)
    if (timeoutMs === null || timeoutMs === 0 || timeoutMs > longestMs) {
      throw new Misuse(
        `expected --timeout to be a duration like 90s, at most 24d, got ${options.timeout}`,
      )
    }
    const { openMill } = await import('../src/commands/mill/mill.ts')
    const { refreshDomains } = await import('../src/commands/domains/refresh.ts')
    const config = readConfig(env)
    const mill = await openMill({ config, closers, say, name: 'sql' })
    await refreshDomains(mill.db, { zone: config.zone })
    const { hintOrigins, readOrigins } = await import('../src/store/analysis/origins.ts')
    const origins = options.origins === undefined ? undefined : readOrigins(options.origins)
    const reading = { ...question, timeoutMs, origins, warn: say }
    // Whoever asks the tables alone is told nothing about the views, unless that may be why there is no row.
    let views = /\banalysis\./i.test(question.text)
    const answer = answerQuestion(mill.pool, reading, {
      format,
      most: Number(options.most),
      say,
      empty: () => (views = true),
    })
    await pipeline(answer, process.stdout, { end: false })
    const hint = views ? await hintOrigins(mill.db, origins) : null
    if (hint !== null) say(hint)
    return exits.done
  },
)
