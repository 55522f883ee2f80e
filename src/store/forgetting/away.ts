import type { Database } from '../database.ts'
import { sql, type RawBuilder } from '../kysely.ts'
import { only } from '../statement.ts'
import type { Forgettable } from './forget.ts'

/** Archived days that may name what is to be forgotten. */
export interface AwayDays {
  readonly days: number
  readonly since: string | null
  readonly until: string | null
}

/** Which days of the archive may name it: files that cannot be emptied where they lie. */
export async function awayDaysOf(db: Database, subject: Forgettable): Promise<AwayDays> {
  const { rows } = await sql<AwayDays>`
    select count(distinct a.run_date) as days, min(a.run_date) as since, max(a.run_date) as until
    from archived_days a
    where ${namedBy(subject)}`.execute(db)
  return only(rows)
}

function namedBy(subject: Forgettable): RawBuilder<boolean> {
  switch (subject.kind) {
    case 'list':
      return sql`exists (select from runs r where r.run_date = a.run_date and r.list_id = ${subject.list.id})`
    case 'query':
      // As a related search any day may name it, once a single answer did.
      return sql`
        exists (
          select
          from tasks t
          join runs r on r.id = t.run_id
          where r.run_date = a.run_date and t.query_id = any(${subject.ids}::uuid[])
        )
        or exists (select from related_searches s where lower(s.q) = lower(${subject.q}::text))`
    case 'domain':
      return sql`true`
    default:
      throw new Error(`unhandled subject ${JSON.stringify(subject satisfies never)}`)
  }
}
