// Nights whose runs have readable answers, for metrics.

import type { Database } from '../../base/database/database.ts'
import { secondsOf } from '../../base/database/clock.ts'
import { sql } from '../../base/database/kysely.ts'

/** True if run `r` has a readable answer or only skipped queries. An `exists` would become a join over all answers. */
export const hasAnswer = sql<boolean>`((
  select true
  from tasks t
  join searches s on s.id = t.search_id
  where t.run_id = r.id
    and t.state in ('answered', 'reused')
    and s.parse_error is null
  limit 1
) or (
  select bool_and(t.state = 'not_asked')
  from tasks t
  where t.run_id = r.id
))`

/** Due time of each enabled schedule's last good night, in seconds since 1970, and the nights decided since then. */
export function readGoodNights(db: Database) {
  return db
    .selectFrom('schedules')
    .leftJoinLateral(
      (eb) =>
        eb
          .selectFrom('nights')
          .innerJoin('runs as r', 'r.id', 'nights.run_id')
          .select('nights.due_at')
          .whereRef('nights.schedule', '=', 'schedules.name')
          .where('r.state', '=', 'done')
          .where('r.suspect', '=', false)
          .where(hasAnswer)
          .orderBy('nights.due_at', 'desc')
          .limit(1)
          .as('good'),
      (join) => join.onTrue(),
    )
    .select((eb) => [
      'schedules.name as schedule',
      secondsOf(eb.ref('good.due_at')).as('seconds'),
      eb
        .selectFrom('nights')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .whereRef('nights.schedule', '=', 'schedules.name')
        .where('nights.outcome', 'is not', null)
        .where(
          'nights.due_at',
          '>',
          eb.fn.coalesce('good.due_at', eb.cast<Date>(eb.val('-infinity'), 'timestamptz')),
        )
        .$asScalar()
        .$notNull()
        .as('nights_since'),
    ])
    .where('schedules.enabled', '=', true)
    .orderBy('schedules.name')
    .execute()
}
