import { sql } from 'kysely'
import type { Database } from './database.ts'

/** Something that happened and that nobody has told yet. */
export type News =
  | {
      readonly kind: 'run_finished'
      readonly subject: string
      readonly run: number
      readonly list: string
      readonly run_date: string
      readonly state: string
      readonly spent: number
      readonly tasks: Readonly<Record<string, number>>
    }
  | {
      readonly kind: 'stop'
      readonly subject: string
      readonly account: string
      readonly reason: string
      readonly detail: string | null
      readonly until: string | null
    }
  | {
      readonly kind: 'night_missed' | 'night_skipped' | 'night_late' | 'night_failed'
      readonly subject: string
      readonly schedule: string
      readonly due_at: string
      readonly run_date: string
      readonly run: number | null
      readonly note: string | null
    }

/**
 * What happened since a time and was not told, taken for telling: of several processes that ask, each piece goes to
 * one. Oldest first.
 */
export async function takeNews(db: Database, since: Date): Promise<readonly News[]> {
  const { rows } = await sql<{ fields: News }>`
    with news as (
      select
        'run_finished' as kind, r.id::text as subject, r.finished_at as at,
        jsonb_build_object(
          'run', r.id, 'list', l.name, 'run_date', r.run_date, 'state', r.state, 'spent', r.spent,
          'tasks', (
            select coalesce(jsonb_object_agg(state, count), '{}')
            from (select t.state, count(*) from tasks t where t.run_id = r.id group by t.state) counted
          )
        ) as fields
      from runs r
      join lists l on l.id = r.list_id
      where r.state in ('done', 'cancelled')
        and r.finished_at > ${since}
        and not exists (select from notices where kind = 'run_finished' and subject = r.id::text)
      union all
      select
        'stop', s.id::text, s.since,
        jsonb_build_object(
          'account', a.name, 'reason', s.reason, 'detail', s.detail, 'until', s.until
        )
      from stops s
      join accounts a on a.id = s.account_id
      where s.since > ${since}
        and s.reason <> 'rate'
        and not exists (select from notices where kind = 'stop' and subject = s.id::text)
      union all
      select
        'night_' || n.outcome, concat(n.schedule, ' ', n.due_at), n.due_at,
        jsonb_build_object(
          'schedule', n.schedule, 'due_at', n.due_at, 'run_date', n.run_date, 'run', n.run_id,
          'note', n.note
        )
      from nights n
      where n.decided_at > ${since}
        and n.outcome in ('missed', 'skipped', 'late', 'failed')
        and not exists (
          select
          from notices
          where kind = 'night_' || n.outcome
            and subject = concat(n.schedule, ' ', n.due_at)
        )
    ),
    taken as (
      insert into notices (kind, subject)
      select kind, subject
      from news
      on conflict do nothing
      returning kind, subject
    )
    select jsonb_build_object('kind', kind, 'subject', subject) || fields as fields
    from news
    join taken using (kind, subject)
    order by at`.execute(db)
  return rows.map(({ fields }) => fields)
}

/** Takes one piece of news that is known by other means; false when it was told already. */
export async function takeNotice(db: Database, kind: string, subject: string): Promise<boolean> {
  const { rows } = await sql`
    insert into notices (kind, subject)
    values (${kind}, ${subject})
    on conflict do nothing
    returning 1`.execute(db)
  return rows.length > 0
}

/** Gives news back that could not be told: the next one who asks tries again. */
export async function giveBack(
  db: Database,
  news: readonly { readonly kind: string; readonly subject: string }[],
): Promise<void> {
  await sql`
    delete from notices
    using unnest(
      ${news.map(({ kind }) => kind)}::text[],
      ${news.map(({ subject }) => subject)}::text[]
    ) as back (kind, subject)
    where notices.kind = back.kind
      and notices.subject = back.subject`.execute(db)
}
