import { print, printJson, runCommand, say } from '../src/shared/terminal/command.ts'
import { readConfig } from '../src/shared/config.ts'
import { exits } from '../src/shared/errors.ts'
import type { Pool } from '../src/store/database.ts'
import type { Analyst } from '../src/store/analysis/analyst.ts'

await runCommand<{ readonly json?: true; readonly analyst?: string }>(
  {
    name: 'migrate',
    about:
      'Prepares the database: our tables, the views of analysts, the tables of the queue. Safe to repeat, and from several hosts at once.',
    examples: [
      'npm run migrate',
      'DATABASE_URL=postgres://user:password@host:5432/name npm run migrate',
      'npm run migrate -- --analyst ada',
    ],
    define: (program) =>
      program
        .option('--analyst <name>', 'make a login that may only read, or renew its rights')
        .option('--json', 'one JSON object on stdout'),
  },
  async ({ options, env, closers }) => {
    const { databaseUrl, home, zone } = readConfig(env)
    const { ensurePostgres } = await import('../src/embedded/postgres.ts')
    const { migrateAll } = await import('../src/commands/mill/mill.ts')
    const { openDatabase, openPool } = await import('../src/store/database.ts')
    const url = databaseUrl ?? (await ensurePostgres(home, { say })).url
    const pool = openPool(url, { name: 'migrate', max: 2 })
    closers.add('the database', pool, (open) => open.end())
    const applied = await migrateAll(pool, url)
    const { refreshDomains } = await import('../src/commands/domains/refresh.ts')
    await refreshDomains(openDatabase(pool), { zone })
    const analyst = options.analyst === undefined ? null : await makeAnalyst(pool, options.analyst)
    if (options.json === true) {
      printJson({ applied, ...(analyst === null ? {} : { analyst }) })
      return exits.done
    }
    print(applied.length === 0 ? 'up to date' : `applied ${applied.join(', ')}`)
    if (analyst !== null) print(describeAnalyst(analyst, url))
    return exits.done
  },
)

async function makeAnalyst(pool: Pool, name: string): Promise<Analyst> {
  const { ensureAnalyst } = await import('../src/store/analysis/analyst.ts')
  return ensureAnalyst(pool, name)
}

/** The password is shown once: nobody keeps it. */
function describeAnalyst({ name, password }: Analyst, url: string): string {
  if (password === null) return `${name} was an analyst already: rights renewed, password as before`
  const address = new URL(url)
  address.username = name
  address.password = password
  return `${name} may read, with this address, which is not shown again: ${address.href}`
}
