import { print, printJson, runCommand, say } from '../src/shared/terminal/command.ts'
import { readConfig } from '../src/shared/config.ts'
import { exits, Misuse } from '../src/shared/errors.ts'
import type { Mill } from '../src/commands/mill/mill.ts'

interface Options {
  readonly nights?: string
  readonly json?: true
}

await runCommand<Options>(
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
  async ({ options, env, closers, signal }) => {
    const nights = options.nights === undefined ? 0 : Number(options.nights)
    if (!Number.isSafeInteger(nights) || nights < 0 || nights > 400) {
      throw new Misuse(`expected --nights from 1 to 400, got ${options.nights}`)
    }
    say('SANDBOX: the bundled service answers, no credits are spent')
    // Whatever is set: a demo never buys from an API that costs money.
    const config = { ...readConfig(env), api: null, account: null }
    const { openMill } = await import('../src/commands/mill/mill.ts')
    const mill = await openMill({ config, closers, say, name: 'demo', connections: 5 })
    const { runNights, runSample } = await import('../src/commands/demo.ts')
    const drainOptions = { signal, tell: say }
    say('reading inputs/keywords.csv, buying an answer for each query')
    let summary = await runSample(mill, drainOptions)
    if (nights > 0 && summary.finish === 'completed') {
      const { startService } = await import('../src/service/start.ts')
      let day = new Date()
      const service = await startService({
        databaseUrl: mill.databaseUrl,
        drift: 'demo',
        today: () => day,
      })
      closers.add('the drifting service', service, (open) => open.close())
      const key = await service.keys.create({ kind: 'live', credits: 1_000_000 })
      const drifting = await withApi(mill, service.url, key.key)
      const setDay = (next: Date) => {
        day = next
      }
      summary = (await runNights(drifting, { ...drainOptions, nights, setDay })) ?? summary
    }
    await showSandboxInViews(mill)
    await tellWhatIsThere(mill, options.json === true)
    return summary.finish === 'completed' ? exits.done : exits.failures
  },
)

/** The same mill, still marked as the sandbox, buying from another address with a key and an account of its own. */
async function withApi(mill: Mill, url: string, key: string): Promise<Mill> {
  const { Secret } = await import('../src/shared/secret.ts')
  const market = { ...mill.market, account: 'demo' }
  return { ...mill, market, api: async () => ({ url: new URL(url), key: new Secret(key) }) }
}

/** The views show live answers only; a database of this machine's own that has none may show the sandbox's. */
async function showSandboxInViews(mill: Mill): Promise<void> {
  if (mill.config.databaseUrl !== null) return
  const { hasLiveAnswers } = await import('../src/store/operator/demo.ts')
  if (await hasLiveAnswers(mill.db)) return
  const { setOrigins } = await import('../src/store/analysis/origins.ts')
  await setOrigins(mill.db, 'live,sandbox')
  say('the views of this database now show answers of the sandbox too (querymill.origins)')
}

async function tellWhatIsThere(mill: Mill, json: boolean): Promise<void> {
  const { askQuestion, countRows, question } = await import('../src/store/operator/demo.ts')
  const { formatTable } = await import('../src/shared/terminal/table.ts')
  const counts = await countRows(mill.db)
  const answer = await askQuestion(mill.db)
  if (json) {
    printJson({ sandbox: true, tables: Object.fromEntries(counts), answer })
    return
  }
  print(`\n${formatTable(['table', 'rows'], counts, { right: ['rows'] })}`)
  print('\nWhich hosts hold the most places among the first three?\n')
  print(question)
  const rows = answer.map(({ host, queries, best }) => [host, queries, best])
  print(`\n${formatTable(['host', 'queries', 'best'], rows, { right: ['queries', 'best'] })}`)
  print('\nSANDBOX: these answers come from the bundled service. Next:')
  print('  npm run sql                                    the library of questions')
  print('  npm run enqueue -- your.csv --dry-run          what your own list would cost')
  print('  npm run status                                 runs, credits, what to type next')
  print('  npm run stack -- status                        the database, for any SQL client')
}
