// Reads the tasks still to be bought and the queries that will become due, for the forecast.

import type { Database } from '../../base/database/database.ts'
import { readRows } from '../../base/database/sql-file.ts'

/** Queries with the same lists, intervals and price, last answered in the same minute. */
export interface ListedGroup {
  readonly lists: readonly number[]
  readonly num: number
  readonly device: string | null
  readonly queries: number
  readonly answered_at: Date | null
  /** Run date of the newest answers; null if unknown or if `wishes` is null. */
  readonly answered_on: string | null
  /** Intervals and maximum ages from lists and cadences; null if there are none. */
  readonly wishes:
    | readonly {
        readonly list: number
        readonly everyDays: number | null
        readonly maxAgeMs: number | null
        readonly dueOn: string | null
        readonly intervalDays: number | null
      }[]
    | null
}

/** Reads the queries that each scheduled list contained when it was last read. */
export function readGroups(db: Database, { origin, api }: { origin: string; api: string }) {
  return readRows<ListedGroup>(db, 'listed_groups', { origin, api })
}

/** Open tasks in one run that have the same price. */
export type OpenTasks = Awaited<ReturnType<typeof readOpenTasks>>[number]

/** The most urgent run comes first. */
export async function readOpenTasks(db: Database) {
  return (
    db
      .selectFrom('runs')
      .innerJoin('lists', 'lists.id', 'runs.list_id')
      .innerJoin('tasks', 'tasks.run_id', 'runs.id')
      .innerJoin('queries', 'queries.id', 'tasks.query_id')
      .where('tasks.state', '=', 'open')
      .where('runs.state', 'in', ['planning', 'open'])
      // The cost of a call in flight is already reserved.
      .where((eb) =>
        eb.not(
          eb.exists(
            eb
              .selectFrom('calls')
              .whereRef('calls.task_id', '=', 'tasks.id')
              .where('calls.outcome', 'is', null),
          ),
        ),
      )
      .groupBy(['runs.id', 'lists.name', 'queries.num', 'queries.device'])
      .orderBy(({ fn }) => fn.min('tasks.priority'))
      .orderBy('runs.id')
      .select((eb) => [
        'runs.id as run',
        'lists.name as list',
        eb.fn<string>('to_char', ['runs.run_date', eb.val('YYYY-MM')]).as('month'),
        eb
          .case()
          .when('runs.budget', 'is not', null)
          .then(
            eb.fn<number>('greatest', [
              eb.lit(0),
              eb('runs.budget', '-', eb.ref('runs.budget_used')),
            ]),
          )
          .end()
          .as('left'),
        'queries.num',
        'queries.device',
        eb.fn.countAll<number>().as('tasks'),
      ])
      .execute()
  )
}

export type ComingSchedule = Awaited<ReturnType<typeof readComing>>[number]

/** Reads the enabled schedules that the last scheduler stored. */
export async function readComing(db: Database) {
  return db
    .selectFrom('schedules')
    .innerJoin('lists', 'lists.name', 'schedules.list')
    .select(['schedules.name', 'schedules.cron', 'schedules.zone', 'schedules.missed'])
    .select(['schedules.max_age_ms', 'schedules.budget', 'schedules.adaptive_days'])
    .select(['schedules.priority', 'schedules.part'])
    .select(['lists.id as list', 'lists.name as list_name'])
    .where('schedules.enabled', '=', true)
    .orderBy('schedules.name')
    .execute()
}
