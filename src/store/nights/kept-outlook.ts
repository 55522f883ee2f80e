import { sql } from '../kysely.ts'
import type { Database } from '../database.ts'

/** Whose outlook it is. */
interface Whose {
  readonly account: string
  readonly origin: string
}

/** An outlook in the spelling of its tables. */
export interface KeptOutlook {
  readonly until: Date
  readonly balance: number | null
  readonly observed_at: Date | null
  readonly floor: number
  readonly missing: 'balance' | 'prices' | null
  readonly day_credits: number | null
  readonly floor_at: Date | null
  readonly steps: readonly {
    readonly kind: string
    readonly name: string
    readonly list: string
    readonly at: Date
    readonly asked: number
    readonly fresh: number
    readonly bought: number
    readonly credits: number
    readonly worst: number
    readonly after: number
    readonly cut: string | null
    readonly sure: boolean
    readonly floor_at: Date | null
  }[]
}

/**
 * Takes it on to compute the outlook, unless somebody did so lately; the longer that took, the less often. Null: it is not
 * due, or the account was never used.
 */
export async function claimOutlook(
  db: Database,
  { account, origin }: Whose,
  { everyMs, restShare }: { readonly everyMs: number; readonly restShare: number },
): Promise<number | null> {
  const { rows } = await sql<{ account: number }>`
    insert into outlooks (account_id, asked_at)
    select id, clock_timestamp()
    from accounts
    where name = ${account} and kind = ${origin}
    on conflict (account_id) do update set asked_at = excluded.asked_at
    where outlooks.asked_at
      < clock_timestamp() - greatest(${everyMs}, outlooks.took_ms * ${restShare}) * interval '1 millisecond'
    returning account_id as account`.execute(db)
  return rows[0]?.account ?? null
}

/** Keeps an outlook in the place of the one before. */
export async function keepOutlook(
  db: Database,
  account: number,
  { steps, ...outlook }: KeptOutlook,
): Promise<void> {
  await db.transaction().execute(async (trx) => {
    // The row first: two that compute it at once come one after the other, and their steps do not mix.
    await sql`
      update outlooks
      set
        made_at = clock_timestamp(),
        took_ms = extract(epoch from clock_timestamp() - asked_at) * 1000,
        until = ${outlook.until},
        balance = ${outlook.balance},
        observed_at = ${outlook.observed_at},
        floor = ${outlook.floor},
        missing = ${outlook.missing},
        day_credits = ${outlook.day_credits},
        floor_at = ${outlook.floor_at}
      where account_id = ${account}`.execute(trx)
    await sql`delete from outlook_steps where account_id = ${account}`.execute(trx)
    await sql`
      insert into outlook_steps
      select
        ${account}, row_number() over (), s.kind, s.name, s.list, s.at, s.asked, s.fresh, s.bought, s.credits, s.worst,
        s.after, s.cut, s.sure, s.floor_at
      from jsonb_to_recordset(${JSON.stringify(steps)}::jsonb) as s (
        kind text, name text, list text, at timestamptz, asked bigint, fresh bigint, bought bigint, credits bigint,
        worst bigint, after bigint, cut text, sure boolean, floor_at timestamptz
      )`.execute(trx)
  })
}

/** What the last outlook of an account came to, for metrics; null: none was computed. */
export async function readKeptOutlook(
  db: Database,
  { account, origin }: Whose,
): Promise<{
  readonly made_s: number
  readonly day_credits: number | null
  readonly floor_in_s: number | null
} | null> {
  const { rows } = await sql<{
    made_s: number
    day_credits: number | null
    floor_in_s: number | null
  }>`
    select
      extract(epoch from o.made_at)::float8 as made_s,
      o.day_credits,
      extract(epoch from o.floor_at - clock_timestamp())::float8 as floor_in_s
    from outlooks o
    join accounts a on a.id = o.account_id
    where a.name = ${account} and a.kind = ${origin} and o.made_at is not null`.execute(db)
  return rows[0] ?? null
}
