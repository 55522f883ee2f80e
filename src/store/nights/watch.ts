import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'

/** What is kept about a schedule between two ticks. */
export interface WatchRow {
  readonly name: string
  readonly list: string
  readonly cron: string
  readonly zone: string
  readonly missed: string
  readonly overlap: string
  readonly enabled: boolean
  readonly known_until: Date
}

/** What the file says beside that: read by whoever wants to know what nights will cost. */
export interface WatchedNight extends WatchRow {
  readonly max_age_ms: number | null
  readonly budget: number | null
  /** Longest interval of an adaptive schedule; null: every query is asked each night. */
  readonly adaptive_days: number | null
}

/** Every schedule that a scheduler has ever seen. */
export async function readWatches(db: Database): Promise<readonly WatchRow[]> {
  return db
    .selectFrom('schedules')
    .select(['name', 'list', 'cron', 'zone', 'missed', 'overlap', 'enabled', 'known_until'])
    .orderBy('name')
    .execute()
}

/** Stores a schedule as its file has it now; `known_until` never goes back. */
export async function saveWatch(db: Database, watch: WatchedNight): Promise<void> {
  await sql`
    insert into schedules
      (name, list, cron, zone, missed, overlap, enabled, known_until, seen_at, max_age_ms, budget, adaptive_days)
    values (
      ${watch.name}, ${watch.list}, ${watch.cron}, ${watch.zone}, ${watch.missed}, ${watch.overlap},
      ${watch.enabled}, ${watch.known_until}, clock_timestamp(), ${watch.max_age_ms}, ${watch.budget},
      ${watch.adaptive_days}
    )
    on conflict (name) do update
    set list = excluded.list,
      cron = excluded.cron,
      zone = excluded.zone,
      missed = excluded.missed,
      overlap = excluded.overlap,
      enabled = excluded.enabled,
      known_until = greatest(schedules.known_until, excluded.known_until),
      seen_at = excluded.seen_at,
      max_age_ms = excluded.max_age_ms,
      budget = excluded.budget,
      adaptive_days = excluded.adaptive_days`.execute(db)
}

/** Turns a schedule off that is not in the file any more. */
export async function disable(db: Database, name: string): Promise<void> {
  await db.updateTable('schedules').set({ enabled: false }).where('name', '=', name).execute()
}

/** Makes a schedule that was decided ahead of time known until now; what runs ahead of time goes on. */
export async function callBack(db: Database, name: string, now: Date): Promise<void> {
  await db.transaction().execute(async (trx) => {
    await sql`
      update schedules
      set known_until = ${now}
      where name = ${name}`.execute(trx)
    // Nights that were decided ahead of time: their rows would make them look decided when they are due.
    await sql`
      delete from nights
      where schedule = ${name}
        and due_at > ${now}
        and run_id is null`.execute(trx)
  })
}

/** Milliseconds since any scheduler last looked at its schedules; null when none ever did. Times ahead of the clock do not count. */
export async function lastLook(db: Database): Promise<number | null> {
  const { rows } = await sql<{ ago: number | null }>`
    select extract(epoch from clock_timestamp() - max(seen_at))::float8 * 1000 as ago
    from schedules
    where seen_at <= clock_timestamp()`.execute(db)
  return rows[0]?.ago ?? null
}
