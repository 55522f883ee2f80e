// The migrate command: brings the tables, views and the queue up to date.

import { type Call, print, printJson, say } from '../../base/cli/command.ts'
import { readConfig } from '../../base/config.ts'
import { openPool } from '../../base/database/database.ts'
import { type Analyst, ensureAnalyst, ensureReader } from '../../base/database/reader-role.ts'
import { letGo } from '../../base/database/trouble.ts'
import { ensurePostgres } from '../../base/embedded/postgres.ts'
import { type Exit, exits } from '../../base/errors.ts'
import { migrateAll } from '../../core/mill.ts'

/** Flags of `npm run migrate`. */
export interface MigrateFlags {
  readonly analyst?: string
  readonly json?: true
}

/** Brings every table and view up to date, and makes a login for an analyst when one is asked for. */
export async function runMigrate({ options, env, closers }: Call<MigrateFlags>): Promise<Exit> {
  const { databaseUrl, home } = readConfig(env)
  const url = databaseUrl ?? (await ensurePostgres(home, { say })).url
  const pool = openPool(url, { name: 'migrate', max: 2 })
  closers.add('the database', pool, (open) => letGo(() => open.end()))
  const applied = await migrateAll(pool, url)
  // Made here and not where it is needed: commands that read may not make roles.
  await ensureReader(pool)
  const analyst = options.analyst === undefined ? null : await ensureAnalyst(pool, options.analyst)
  if (options.json === true) {
    printJson({ applied, ...(analyst === null ? {} : { analyst }) })
    return exits.done
  }
  print(applied.length === 0 ? 'up to date' : `applied ${applied.join(', ')}`)
  if (analyst !== null) print(analystLine(analyst, url))
  return exits.done
}

/** The password is shown once: nobody keeps it. */
function analystLine({ name, password }: Analyst, url: string): string {
  if (password === null) return `${name} was an analyst already: rights renewed, password as before`
  const address = new URL(url)
  address.username = name
  address.password = password
  return `${name} may read, with this address, which is not shown again: ${address.href}`
}
