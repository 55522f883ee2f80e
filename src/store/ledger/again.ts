import type { Device, Query } from '../../shared/query.ts'
import type { Database } from '../database.ts'
import { sql } from '../kysely.ts'

/** So often an answer is asked for again, over a bit more than a minute: then its query is bought again, as anywhere else. */
const mostAgain = 8

/** A request that was the last may be on its way for so long. */
const lastOneMs = 60_000

/** Calls of `c` without a readable end that account `a` may ask for again: the same key gets the same answer, charged once. */
const mayAskAgain = sql<boolean>`(
  c.outcome = 'unknown'
  and c.washed_at is null
  and c.mark is not null
  -- An answer that told no price is there already, and its rows say so.
  and not exists (select from searches s where s.call_id = c.id)
  and c.sent_at > clock_timestamp() - a.replay_ms * interval '1 millisecond'
  and (c.asked_again < ${mostAgain}
    or c.asked_again_at > clock_timestamp() - ${lastOneMs} * interval '1 millisecond')
)`

/**
 * Task `t`, looked at for account `a`, has an answer that was lost and may come yet. That of another account counts for as
 * long as its workers may be expected to ask again.
 */
export const mayBeAnswered = sql<boolean>`(
  a.replay_ms is not null and exists (
    select
    from calls c
    where c.account_id = a.id and c.query_id = t.query_id and ${mayAskAgain}
  )
  or exists (
    select
    from calls c
    join accounts a on a.id = c.account_id
    where c.task_id = t.id
      and c.unknown_at > clock_timestamp() - interval '90 seconds'
      and ${mayAskAgain}
  )
)`

/** A call whose answer was lost, and the task that waits for it. */
export interface LostAnswer {
  readonly call: number
  readonly mark: string
  readonly task: number
  readonly run: number
  readonly class: string
  readonly priority: number
  readonly query_id: string
  readonly query: Query & { readonly device: Device | null }
}

/** Takes calls whose answers are to be asked for again now; another worker leaves these alone for a while. */
export async function claimLost(
  db: Database,
  { account, limit }: { account: number; limit: number },
): Promise<readonly LostAnswer[]> {
  const { rows } = await sql<LostAnswer>`
    with due as (
      select c.id
      from calls c
      join accounts a on a.id = c.account_id
      where c.account_id = ${account}
        and ${mayAskAgain}
        and c.asked_again < ${mostAgain}
        and (
          c.asked_again_at is null
          or c.asked_again_at
            < clock_timestamp() - least(20, 0.25 * 2 ^ c.asked_again) * interval '1 second'
        )
        and (a.not_before is null or a.not_before <= clock_timestamp())
        and not exists (
          select
          from stops s
          where s.account_id = a.id and s.cleared_at is null and s.reason = 'auth'
        )
      order by c.id
      limit ${limit}
      for no key update of c skip locked
    )
    update calls
    set asked_again = calls.asked_again + 1, asked_again_at = clock_timestamp()
    from due, tasks t, slices s, queries q
    where calls.id = due.id
      and t.id = calls.task_id
      and s.run_id = t.run_id
      and s.slice = t.slice
      and q.id = calls.query_id
    returning
      calls.id as call, calls.mark, t.id as task, t.run_id as run, calls.class, s.priority,
      calls.query_id,
      jsonb_build_object(
        'q', q.q, 'location', q.location, 'hl', q.hl, 'gl', q.gl, 'num', q.num, 'device', q.device
      ) as query`.execute(db)
  return rows
}

/** True while an answer of the account was lost a moment ago and may come yet. */
export async function anyLost(db: Database, account: number): Promise<boolean> {
  const { rows } = await sql<{ any: boolean }>`
    select exists (
      select
      from calls c
      join accounts a on a.id = c.account_id
      where c.account_id = ${account}
        and c.unknown_at > clock_timestamp() - interval '2 minutes'
        and ${mayAskAgain}
    ) as any`.execute(db)
  return rows[0]?.any ?? false
}

/** Takes the turn of one request from an account that starts only so many a second; false: it is not its turn. */
export async function takeTurn(
  db: Database,
  { account, perSecond }: { account: number; perSecond: number },
): Promise<boolean> {
  const { rows } = await sql<{ id: number }>`
    update accounts a
    set rate_next_at = clock_timestamp() + interval '1 second' / ${perSecond}::float8
    where a.id = ${account}
      and (a.rate_next_at is null or a.rate_next_at <= clock_timestamp())
      and exists (select from calls c where c.account_id = a.id and ${mayAskAgain})
    returning a.id`.execute(db)
  return rows.length > 0
}

/** Remembers for how long the API gives the same answer to the same key; null: not at all. */
export async function saveReplay(
  db: Database,
  account: number,
  replayMs: number | null,
): Promise<void> {
  await sql`
    update accounts
    set replay_ms = ${replayMs}
    where id = ${account} and replay_ms is distinct from ${replayMs}::bigint`.execute(db)
}
