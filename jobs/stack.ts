import { print, printJson, runCommand, say } from '../src/shared/terminal/command.ts'
import { readConfig } from '../src/shared/config.ts'
import { exits, Misuse } from '../src/shared/errors.ts'

await runCommand<{ readonly json?: true }>(
  {
    name: 'stack',
    about: 'The database and the search service that this machine runs for itself.',
    examples: [
      'npm run stack -- status',
      'npm run -s stack -- status --json',
      'npm run stack -- stop',
    ],
    define: (program) =>
      program
        .argument('<action>', 'status: what runs, and where; stop: end both, the data stay')
        .option('--json', 'one JSON object on stdout'),
  },
  async ({ options, args, env }) => {
    const action = args[0] ?? ''
    const { home, databaseUrl } = readConfig(env)
    const { postgresStatus, stopPostgres } = await import('../src/embedded/postgres.ts')
    const { serviceStatus, stopService } = await import('../src/embedded/service.ts')
    if (action !== 'status' && action !== 'stop') {
      throw new Misuse(
        `expected status or stop, got ${JSON.stringify(action)}; see npm run stack -- --help`,
      )
    }
    if (databaseUrl !== null)
      say('note: DATABASE_URL is set, so commands use that database instead')
    if (action === 'stop') {
      // The service first: it would lose its database in mid-answer.
      const service = await stopService(home)
      const postgres = await stopPostgres(home)
      if (options.json === true) printJson({ stopped: { postgres, service } })
      else
        print(
          `PostgreSQL: ${postgres ? 'stopped' : 'did not run'}\nsearch service: ${service ? 'stopped' : 'did not run'}`,
        )
      return exits.done
    }
    const postgres = await postgresStatus(home)
    const service = await serviceStatus(home)
    if (options.json === true) {
      const { url, data, running } = postgres
      printJson({
        database_url: url,
        data,
        running,
        service: { running: service.running, url: service.url },
      })
      return exits.done
    }
    print(`PostgreSQL: ${postgres.running ? 'running' : 'not running'}`)
    if (postgres.url !== null) print(`  address: ${postgres.url}\n  data: ${postgres.data}`)
    print(`search service: ${service.running ? `running at ${service.url}` : 'not running'}`)
    if (!postgres.running) say('any command that needs them starts them')
    return exits.done
  },
)
