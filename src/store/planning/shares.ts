import { sql, type RawBuilder, type Transaction } from '../kysely.ts'
import type { DB } from '../schema.ts'
import type { Planned, PlanOrder } from './order.ts'

type ShareOrder = Pick<PlanOrder, 'part' | 'shares' | 'prices'>

/** What a merged line says about shares: the first label of its lines that has one, and what its call will cost. */
export function shareColumns({ part, shares, prices }: ShareOrder): {
  readonly merged: RawBuilder<unknown>
  readonly shown: RawBuilder<unknown>
} {
  if (shares.length === 0 && part === null) return { merged: sql``, shown: sql`` }
  // A class that nobody has paid for yet may cost as much as the dearest one.
  const dearest = prices.reduce((most, { credits }) => Math.max(most, credits), 0) || 1
  const price = sql`coalesce(
      nullif((
        select prices.credits
        from unnest(${prices.map((one) => one.class)}::text[], ${prices.map(({ credits }) => credits)}::float8[])
          as prices (class, credits)
        where prices.class = lines.num || '/' || coalesce(lines.device, '-')
      ), 0),
      ${dearest}::float8
    )`
  return {
    merged: sql`, min(share) as share, min(num) as num, min(device) as device`,
    shown: sql`, lines.share, ${price} as price`,
  }
}

/**
 * The merged lines that are to be bought, each with its turn: the credits of its label up to it, by the share of its
 * label. Bought in the order of their turns, each label has its share of the credits wherever money ends, but for one
 * call, as long as it has queries; what it does not use goes to the others by their shares.
 */
export function queuedWithTurns(
  { shares }: Pick<ShareOrder, 'shares'>,
  usual: RawBuilder<unknown>,
): RawBuilder<unknown> {
  const fractions = shares.map(({ share }) => share)
  const rest = Math.max(
    0,
    fractions.reduce((left, share) => left - share, 1),
  )
  // Of the whole, for what has no label with a share: a rounding is no share.
  const others = rest < 1e-9 ? sql`0::float8` : sql`${rest}::float8`
  return sql`(
      select
        *,
        coalesce(
          sum(price) over (partition by priority, share order by overdue desc, ${usual} rows unbounded preceding)
            / nullif(coalesce((${fractions}::float8[])[share + 1], ${others}), 0),
          'infinity'
        ) as turn
      from pg_temp.merged
      where not already
        and not reused
        and not rests
    ) as queued`
}

/** How many of the queries that are to be bought are of each label with a share. */
export async function countShares(
  trx: Transaction<DB>,
  { shares }: Pick<ShareOrder, 'shares'>,
): Promise<Planned['shares']> {
  if (shares.length === 0) return []
  const { rows } = await sql<{ share: number; queued: number }>`
    select share, count(*) as queued
    from pg_temp.merged
    where not already
      and not reused
      and not rests
      and share is not null
    group by share`.execute(trx)
  const queued = new Map(rows.map((row) => [row.share, row.queued]))
  return shares.map((one, place) => ({ ...one, queued: queued.get(place) ?? 0 }))
}

/**
 * Gives new slices of a run their turns among those of other lists: what is expected to be spent up to the end of each,
 * by the part of its list. Handed out in the order of their turns, each list has its part of the credits wherever money
 * ends, but for the slices at work, as long as it has queries; what it does not use goes to the others by their parts.
 */
export async function takeTurns(
  trx: Transaction<DB>,
  run: number,
  { part, first }: { part: number; first: number },
): Promise<void> {
  await sql`
    update slices
    set turn = coalesce(costs.credits / nullif(${part}::float8, 0), 'infinity')
    from (
      select slice, sum(sum(price)) over (order by slice) as credits
      from tasks
      join pg_temp.merged on merged.id = tasks.query_id
      where run_id = ${run}
        and slice >= ${first}::bigint
      group by slice
    ) as costs
    where run_id = ${run}
      and slices.slice = costs.slice`.execute(trx)
}
