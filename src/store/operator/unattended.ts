import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'
import { countOpenTasks } from './gauges.ts'

/** Open work that no live worker is there for. */
export interface Unattended {
  readonly since: Date
  readonly tasks: number
}

/** Workers whose lease holds, of all accounts. */
export async function countLiveWorkers(db: Database): Promise<number> {
  const { rows } = await sql<{ live: number }>`
    select count(*) as live
    from workers
    where stopped_at is null and lease_until > clock_timestamp()`.execute(db)
  return rows[0]?.live ?? 0
}

/**
 * Work that has lain open for so long without a live worker, and that nobody noted since it began; null: none. It begins
 * when the last worker goes or when a run is made or opened again, whichever is later.
 */
export async function readUnattended(db: Database, forMs: number): Promise<Unattended | null> {
  const { rows } = await sql<{ since: Date }>`
    with began as (
      select greatest(
        (select max(coalesce(stopped_at, lease_until)) from workers),
        (select min(greatest(created_at, opened_at)) from runs where state = 'open')
      ) as since
      where exists (select from runs where state = 'open')
        and not exists (
          select from workers where stopped_at is null and lease_until > clock_timestamp()
        )
    )
    select since
    from began
    where since < clock_timestamp() - ${forMs} * interval '1 millisecond'
      and not exists (
        select from notices where kind = 'work_unattended' and noted_at > since
      )`.execute(db)
  const [found] = rows
  if (found === undefined) return null
  const tasks = await countOpenTasks(db)
  return tasks === 0 ? null : { since: found.since, tasks }
}
