// The migrate command: updates the tables, the views and the queue to this release.

import { type Call, print, printJson, say } from '../../base/cli/command.ts'
import { readConfig } from '../../base/config.ts'
import { openPool } from '../../base/database/database.ts'
import { ensureAnalyst, ensureReader } from '../../base/database/reader-role.ts'
import { letGo } from '../../base/database/trouble.ts'
import { ensurePostgres } from '../../base/embedded/postgres.ts'
import { type Exit, exits } from '../../base/errors.ts'
import { migrateAll } from '../../core/mill.ts'

export async function runMigrate(call: Call<{ readonly analyst?: string }>): Promise<Exit> {
  const { options, env, closers } = call
  const { databaseUrl, home } = readConfig(env)
  const url = databaseUrl ?? (await ensurePostgres(home, { say })).url
  const pool = openPool(url, { name: 'migrate', max: 2 })
  closers.add('the database', pool, (open) => letGo(() => open.end()))
  const applied = await migrateAll(pool, url)
  // The read-only role is created here rather than on first use, because read-only commands may not create roles.
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

/** Describes an analyst's login. The password is shown only once, because it is not stored. */
function analystLine({ name, password }: { name: string; password: string | null }, url: string) {
  if (password === null)
    return `${name} is already an analyst: privileges updated, password unchanged`
  const address = new URL(url)
  address.username = name
  address.password = password
  return `${name} can log in with this address, which is shown only once: ${address.href}`
}
