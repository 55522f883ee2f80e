import { print, printJson, runCommand, say } from '../src/command.ts'
import { readConfig } from '../src/config.ts'
import { exits } from '../src/errors.ts'

await runCommand<{ readonly json?: true }>(
  {
    name: 'migrate',
    about:
      'Prepares the database: our tables, the views of analysts, the tables of the queue. Safe to repeat, and from several hosts at once.',
    examples: [
      'npm run migrate',
      'DATABASE_URL=postgres://user:password@host:5432/name npm run migrate',
    ],
    define: (program) => program.option('--json', 'one JSON object on stdout'),
  },
  async ({ options, env, closers }) => {
    const { databaseUrl, home } = readConfig(env)
    const { ensurePostgres } = await import('../src/embedded/postgres.ts')
    const { migrateAll } = await import('../src/mill.ts')
    const { openPool } = await import('../src/store/database.ts')
    const url = databaseUrl ?? (await ensurePostgres(home, { say })).url
    const pool = openPool(url, { name: 'migrate', max: 2 })
    closers.add('the database', pool, (open) => open.end())
    const applied = await migrateAll(pool, url)
    if (options.json === true) printJson({ applied })
    else print(applied.length === 0 ? 'up to date' : `applied ${applied.join(', ')}`)
    return exits.done
  },
)
