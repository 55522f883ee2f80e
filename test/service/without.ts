import pg from 'pg'

/** Blocks all access to a database while the work runs, and ends open connections. */
export async function withoutDatabase(url: string, work: () => Promise<void>): Promise<void> {
  const name = new URL(url).pathname.slice(1)
  const admin = new URL(url)
  admin.pathname = '/postgres'
  const client = new pg.Client({ connectionString: admin.href })
  await client.connect()
  try {
    await client.query(`alter database ${pg.escapeIdentifier(name)} allow_connections false`)
    await client.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1',
      [name],
    )
    await work()
  } finally {
    await client.query(`alter database ${pg.escapeIdentifier(name)} allow_connections true`)
    await client.end()
  }
}
