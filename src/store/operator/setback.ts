import { openPool } from '../database.ts'

/**
 * Puts a copy of one database in the place of another, as whoever restores a dump does: everybody who is connected to
 * either is cut off, and nobody gets in before it is done.
 */
export async function replaceDatabase(
  server: string,
  { from, to }: { from: string; to: string },
): Promise<void> {
  const admin = openPool(Object.assign(new URL(server), { pathname: '/postgres' }).href, {
    name: 'chaos',
    max: 1,
  })
  try {
    await admin.query(`alter database ${named(from)} allow_connections false`)
    await admin.query(
      'select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = $1',
      [from],
    )
    await admin.query(`drop database if exists ${named(to)} with (force)`)
    await admin.query(`create database ${named(to)} template ${named(from)}`)
    // A sequence of the copy believes that the next numbers are in the log already, and would give them out again after
    // a crash: behind a checkpoint it looks anew.
    await admin.query('checkpoint')
  } finally {
    await admin.query(`alter database ${named(from)} allow_connections true`)
    await admin.end()
  }
}

function named(database: string): string {
  return `"${database.replaceAll('"', '""')}"`
}
