import { once } from 'node:events'
import { print, runCommand, say } from '../src/shared/terminal/command.ts'
import { readConfig } from '../src/shared/config.ts'
import { exits } from '../src/shared/errors.ts'
import { openLog } from '../src/shared/log.ts'
import { dayFlag, pathFlag, wholeFlag, wordFlag } from '../src/service/options.ts'
import { startService, upstreams } from '../src/service/start.ts'
import { standIn } from '../src/service/standin/standin.ts'

interface Options {
  readonly port: string
  readonly host: string
  readonly upstream?: string
  readonly basePath: string
  readonly drift?: string
  readonly today?: string
  readonly faults?: string
  readonly canned?: boolean
  readonly latency: string
}

await runCommand<Options>(
  {
    name: 'service',
    about: 'Runs the search service: test keys get invented answers, live keys real pages.',
    examples: [
      'npm run service -- --port 8787',
      'npm run service -- --port 8787 --upstream mock',
      'npm run service -- --drift garden --today 2026-01-31',
    ],
    drains: true,
    define: (program) =>
      program
        .option('--port <n>', 'port to listen on; 0: any free one', '0')
        .option('--host <address>', 'address to listen on', '127.0.0.1')
        .option(
          '--upstream <name>',
          'what live keys find: local, searxng or mock; default: UPSTREAM',
        )
        .option('--base-path <path>', 'path under which everything lives', '')
        .option('--drift <seed>', 'answers move from day to day, for histories')
        .option('--today <day>', 'the day that moving answers are of')
        .option('--faults <file or JSON>', 'a stand-in for tests that fails on purpose')
        .option('--canned', 'a stand-in for benchmarks that looks nothing up')
        .option('--latency <ms>', 'with --canned: how long an answer takes', '0'),
  },
  async ({ options, env, closers, signal }) => {
    const port = wholeFlag('port', options.port, 65_535) ?? 0
    const other = await standIn(options, env, port)
    if (other !== null) {
      closers.add('stand-in', other, (open) => open.close())
      print(JSON.stringify(other.shown))
      if (!signal.aborted) await once(signal, 'abort')
      return exits.done
    }
    const basePath = pathFlag('base-path', options.basePath)
    const today = dayFlag('today', options.today)
    const { databaseUrl, home, searxngUrl, ...config } = readConfig(env)
    const upstream = wordFlag('upstream', options.upstream ?? config.upstream, upstreams)
    const { ensurePostgres } = await import('../src/embedded/postgres.ts')
    const service = await startService({
      databaseUrl: databaseUrl ?? (await ensurePostgres(home, { say })).url,
      port,
      host: options.host,
      upstream,
      basePath,
      log: await openLog('service'),
      ...(searxngUrl === null ? {} : { searxngUrl }),
      ...(options.drift === undefined ? {} : { drift: options.drift }),
      ...(today === undefined ? {} : { today }),
    })
    closers.add('service', service, (open) => open.close())
    print(JSON.stringify({ url: service.url }))
    say(`the search service answers at ${service.url}; Ctrl-C ends it`)
    if (!signal.aborted) await once(signal, 'abort')
    return exits.done
  },
)
