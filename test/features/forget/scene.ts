// const lived = await livedTwoNights(api): two lists with a common query, answered on two nights, with everything that
// programs and people store beside them: notices, alerts, notes, rules, schedules, stored sums of days. `moneyOf` is
// the data that must remain.
import { sql } from 'kysely'
import type { Database } from '../../../src/base/database/database.ts'
import { finishDays } from '../../../src/core/nights/finish.ts'
import { reparse } from '../../../src/core/runs/reparse.ts'
import { conserveCredits, prove } from '../../../src/features/verify/command.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { type TestMill, testMill, type TestMillOptions } from '../../support/mill.ts'
import { seed } from '../expand/seed.ts'

const person = 'petra-lindt.example'

/** A database with two nights, as a template for copies; it has no connections. */
export async function livedTwoNights(api: TestMillOptions['api']): Promise<FreshDatabase> {
  const lived = await freshDatabase()
  const first = await testMill({ api, database: lived })
  await liveTwoNights(first)
  await first.close()
  await lived.pool.end()
  return lived
}

async function liveTwoNights(mill: TestMill): Promise<void> {
  for (const nights of [1, 2]) {
    await seed(mill, 'airships', ['zeppelin one', 'zeppelin two', 'common thing'])
    await seed(mill, 'boots', ['walking boots', 'common thing'])
    await sql`update runs set run_date = run_date - 1 where ${nights} = 1`.execute(mill.db)
  }
  await namePerson(mill)
  await tellTales(mill.db)
  await finishDays(mill.db)
}

/** Every third answer names a person's site in every place that an answer has. */
async function namePerson(mill: TestMill): Promise<void> {
  const more = {
    site_links: [{ link: `https://blog.${person}/ad`, title: `Ad of ${person}` }],
    note: `said by www.${person}`,
  }
  await sql`
    update raw_answers
    set body = convert_to((
      said || ${JSON.stringify(more)}::jsonb || jsonb_build_object(
        'organic_results', (said -> 'organic_results') || ${JSON.stringify([
          {
            position: 11,
            title: 'Petra at home',
            url: `https://www.${person}/me`,
            snippet: 'All about me',
            domain: `www.${person}`,
          },
          {
            position: 12,
            title: 'A copy',
            url: `https://copies.example/http/${person}/me`,
            snippet: 'Kept for good',
            domain: 'copies.example',
          },
          {
            position: 13,
            title: `Who is\n${person}?`,
            url: 'https://gossip.example/7',
            snippet: 'Nothing much',
            domain: 'gossip.example',
            rating: person.toUpperCase(),
          },
          {
            position: 14,
            title: `not${person}`,
            url: `https://not${person}/`,
            snippet: `${person}.net is another one`,
            domain: `not${person}`,
          },
        ])}::jsonb,
        'entities', (said -> 'entities') || ${JSON.stringify([{ name: person, type: 'Person' }])}::jsonb,
        'clusters', (said -> 'clusters') || ${JSON.stringify([`fans of ${person}`])}::jsonb,
        'related_searches', (said -> 'related_searches') || ${JSON.stringify([
          `${person} login`,
          'Zeppelin one',
        ])}::jsonb
      )
    )::text, 'UTF8')
    from (select call_id as id, convert_from(body, 'UTF8')::jsonb as said from raw_answers) as kept
    where kept.id = raw_answers.call_id and call_id % 3 = 1`.execute(mill.db)
  await reparse(mill, { all: true, run: null })
}

/** Other data that a year of use leaves beside answers. */
async function tellTales(db: Database): Promise<void> {
  await sql`
    with run as (
      select r.id, r.list_id, r.run_date, t.query_id, t.search_id
      from runs r join lists l on l.id = r.list_id join tasks t on t.run_id = r.id join queries q on q.id = t.query_id
      where l.name = 'airships' and q.q = 'zeppelin one' limit 1
    ),
    refused as (
      update runs set rows = rows + 1, rejected = rejected + 1 from run where runs.id = run.id
    ),
    line as (
      insert into rejected_lines (run_id, line, reason, content)
      select id, 9, 'expected gl, got zeppelin one', ${`zeppelin one,xx,https://${person}/`} from run
    ),
    due as (
      insert into nights (schedule, due_at, run_date, outcome, run_id, note)
      select 'airships-nightly', now(), run_date, 'ran', id, 'airships was late' from run
    ),
    alert as (
      insert into alerts
        (rule, what, subject, list, query_id, domain, origin, base_run_date, run_id, run_date, search_id, said, question)
      select 'lost', 'left', 'zeppelin one', 'airships', query_id, ${person}, 'live', run_date, id, run_date, search_id,
        ${`${person} left for "zeppelin one"`}, 'serp_changes --q "zeppelin one"'
      from run
    ),
    doubted as (
      insert into quarantine (search_id, run_id, reason)
      select search_id, id, ${`it answers another query: "zeppelin one" of ${person}`} from run
    ),
    marked as (
      insert into trust_marks (run_id, search_id, trusted, reason, made_by)
      select id, search_id, false, ${`airships: zeppelin one is odd at ${person}`}, 'an operator' from run
    ),
    rested as (
      insert into cadences (list_id, query_id, decided_on, interval_days, due_on, by_chance, why)
      select list_id, query_id, run_date, 2, run_date, false, 'quiet since zeppelin one' from run
    )
    update list_queries
    set target_url = ${`https://${person}/shop`}, tags = ${['airy', person]}
    where list_id in (select id from lists)`.execute(db)
  await sql`
    insert into schedules (name, list, cron, zone, missed, overlap, enabled, known_until, seen_at)
    values ('airships-nightly', 'airships', '0 2 * * *', 'UTC', 'all', 'skip', false, now(), now())`.execute(
    db,
  )
  await sql`
    insert into alert_rules (name, line, what, list, domain)
    values ('lost', 2, 'left', 'airships', null), ('rival', 3, 'left', null, ${person})`.execute(db)
  await sql`
    insert into notices (kind, subject, said, fields) values
      ('night_late', 'airships-nightly 1', 'airships runs late', '{"list": "airships"}'),
      ('rank_alert', '12 lost', ${`left for "zeppelin one": ${person}`}, '{"list": "boots"}'),
      ('run_finished', '7', 'boots is done', '{"list": "boots"}')`.execute(db)
  await sql`
    insert into notes.annotations (date, text, tag) values
      ('2026-01-05', 'airships relaunched', 'list=airships'),
      ('2026-01-05', ${`zeppelin one: ${person} complained`}, '*'),
      ('2026-01-05', 'nothing of the kind', '*')`.execute(db)
  await sql`insert into rival_domains (domain, label) values (${`*.${person}`}, 'Petra')`.execute(
    db,
  )
  await sql`
    insert into own_domain_changes (changed_at, command, change, domain, label, rival)
    values (now(), 'set', 'added', ${`*.${person}`}, 'Petra', true)`.execute(db)
  await sql`
    insert into stops (account_id, reason, detail, cleared_at)
    select id, 'rate', ${`429 for zeppelin one at ${person}`}, now() from accounts`.execute(db)
  await sql`
    update calls set error_message = 'answered late: zeppelin one' where id = (select min(id) from calls)`.execute(
    db,
  )
}

/** All data about credits, without any text of queries. */
export async function moneyOf(db: Database): Promise<unknown> {
  const { rows: calls } = await sql`
    select
      id, task_id, account_id, sent_at, finished_at, outcome, http_status, credits_reserved, credits_used,
      credits_remaining, start_seq, start_total, class, error_code
    from calls order by id`.execute(db)
  const { rows: accounts } = await sql`select * from accounts order by id`.execute(db)
  const { rows: costs } = await sql`select * from account_costs order by account_id, class`.execute(
    db,
  )
  const { rows: runs } = await sql`
    select id, run_date, kind, state, budget, spent, uncertain, reserved, rows, accepted, duplicates, rejected from runs order by id`.execute(
    db,
  )
  const { rows: statement } = await sql`
    select account, at, kind, credits, balance, call_id, run_id, line from analysis.statement order by account, line`.execute(
    db,
  )
  return { calls, accounts, costs, runs, statement, kept: await conserveCredits(db) }
}

/** Violated checks, including bodies and finished days. */
export async function brokenIn(db: Database): Promise<readonly string[]> {
  const { checks } = await prove(db, { zone: 'UTC', deep: true })
  return checks.filter(({ ok }) => !ok).map(({ name }) => name)
}

/** A hash of every table, to check that nothing was changed. */
export async function hashOf(db: Database): Promise<unknown> {
  const { rows: tables } = await sql<{ name: string }>`
    select format('%I.%I', schemaname, tablename) as name
    from pg_tables
    where schemaname not in ('pg_catalog', 'information_schema')
    order by 1`.execute(db)
  const hashes: Record<string, unknown> = {}
  for (const { name } of tables) {
    const { rows } = await sql`
      select md5(coalesce(string_agg(t::text, '|' order by t::text), '')) as hash from ${sql.raw(name)} as t`.execute(
      db,
    )
    hashes[name] = rows[0]
  }
  return hashes
}
