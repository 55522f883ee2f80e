import { sql } from '../kysely.ts'

/** The floor in force for an account `a`: the highest among its live workers, which holds for all of them; else null. */
export const floorInForce = sql<number | null>`(
    select max(w.floor)
    from workers w
    where w.account_id = a.id and w.stopped_at is null and w.lease_until > clock_timestamp()
  )`
