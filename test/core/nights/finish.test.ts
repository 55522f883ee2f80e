// @module-tag slow
import { hash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { anyUnfinished, finishDays } from '../../../src/core/nights/finish.ts'
import { endRuns } from '../../../src/core/nights/judge.ts'
import { runChecks } from '../../../src/features/verify/command.ts'
import { tellByChance } from '../../features/analysis/chance.ts'
import { dice } from '../../features/analysis/oracle.ts'
import { storyScene } from '../../features/analysis/scene.ts'
import { histories } from '../../support/schedules.ts'

const scene = storyScene()

const run = (text: string, ...values: unknown[]) => scene.pool.query(text, values)

/** Rows of a view, one per line. The last digits of a sum depend on the order of addition. */
async function linesOf(view: string, columns: string, slice = ''): Promise<readonly string[]> {
  const client = await scene.pool.connect()
  await client.query("select set_config('querymill.slice', $1, false)", [slice])
  const text = `select run_date, ${columns} from ${view}`
  // Under a name, the server plans the statement once. To plan such views takes longer than to read a few rows of them.
  const { rows } = await client.query<unknown[]>({
    ...{ name: hash('md5', text), text, rowMode: 'array' },
  })
  await client.query("select set_config('querymill.slice', '', false)")
  client.release()
  const said = (value: unknown) =>
    typeof value === 'number' ? value.toPrecision(12) : String(value)
  return rows.map((row) => row.map(said).join(' ')).toSorted()
}

const counts = 'labels, queries, weight, planned, planned_weight'
const steps =
  'query_id, search_id, fetched_at, previous_search_id, previous_run_date, depth, previous_depth, volatility, compared_depth, entered, left_top_10, stayed'
const sums = 'labels, domain, ranked, top_3, top_10, top_20, positions, clicks'

/** Without a slice, and with labels joined by or, and, not. */
const slices = ['', '[["+device=mobile","+more"],["-list=late"]]']

/** Domains whose best page changed: according to steps, and according to all moves between answers. */
const switches = `(
  select run_date, concat_ws(' ', query_id, named.domain) as switch
  from analysis.step_days
  cross join unnest(step_days.switched) as named (domain)
) as kept`
const liveSwitches = `(
  select run_date, concat_ws(' ', query_id, domain) as switch
  from analysis.movers
  where several_pages
    and analysis.page_name(url_key) <> analysis.page_name(previous_url_key)
) as live`

/** Pages whose title differs from that in the previous answer, and the same from the answers of each step. */
const titles = `(
  select run_date, concat_ws(' ', query_id, domain, url_key, position, previous_title, title) as titles
  from analysis.title_changes
) as kept`
const liveTitles = `(
  select run_date, concat_ws(' ', query_id, titles.domain, url_key, position, previous_title, title) as titles
  from analysis.live_steps
  cross join lateral analysis.titles_of(search_id, previous_search_id) as titles
) as live`

const losses =
  'query_id, domain, position, base_run_date, depth, fetched_at, search_id, base_search_id'

const lengths = (from: string) =>
  `select null as run_date, concat_ws(' ', query_id, lasts, answers) as stay from analysis.${from}`

const survival = `(
  select null as run_date, concat_ws(' ', answers, ended, lasting) as stays
  from analysis.top_ten_survival
) as kept`
const liveSurvival = `(
  select null as run_date, concat_ws(' ', answers, count(*) filter (where not lasts), count(*) filter (where lasts)) as stays
  from analysis.top_ten_stays
  where began
  group by answers
) as live`

/** Best positions of domains in the answers of each day, and the pages among the first ten. */
const places = `(
  select run_date, concat_ws(' ', query_id, held.domain, held.place) as held
  from analysis.observations
  cross join lateral analysis.domains_in(search_id) as held
  union all
  select run_date, concat_ws(' ', query_id, held.page)
  from analysis.observations
  cross join lateral analysis.pages_in(search_id) as held
) as kept`
const livePlaces = `(
  select run_date, concat_ws(' ', query_id, domain, min(place)) as held
  from analysis.observations
  join result_domains using (search_id)
  where domain is not null
  group by query_id, run_date, domain
  union all
  select distinct run_date, concat_ws(' ', query_id, hashtextextended(url_key, 0))
  from analysis.observations
  join result_domains using (search_id)
  where position <= 10
    and url_key is not null
) as live`

/** Labels that changed, and the number of positions that domains moved. */
const changes = `(
  select run_date, concat_ws(' ', query_id, kind, previous_label, label) as change
  from analysis.label_changes
  union all
  select run_date, concat_ws(' ', query_id, places)
  from analysis.step_days
  cross join unnest(moves) as places
) as kept`
const liveChanges = `(
  select run_date, concat_ws(' ', steps.query_id, kind, previous_label, label) as change
  from analysis.live_steps as steps
  join searches on searches.id = search_id
  join searches as before on before.id = previous_search_id
  cross join lateral (
    values ('intent', before.intent, searches.intent), ('sentiment', before.sentiment, searches.sentiment)
  ) as labels (kind, previous_label, label)
  where previous_label is distinct from label
  union all
  select run_date, concat_ws(' ', query_id, places)
  from analysis.movers
) as live`

/** Last known answers of each day. They are stored for 31 days only. */
const known = (days: number) => `(
  select days.run_date, concat_ws(' ', known.*) as known
  from (select distinct run_date from runs) as days
  cross join lateral analysis.known_on(days.run_date, ${days}) as known
) as known`

/** Groups of queries for each day. They are not stored for slices. */
const groups = `(
  select days.run_date, concat_ws(' ', groups.*) as found
  from (select distinct run_date from runs) as days
  cross join lateral analysis.keyword_groups_on(days.run_date) as groups
) as groups`

const related = `(
  select null as run_date, concat_ws(' ', q, in_degree, out_degree, reciprocal) as related
  from analysis.related_nodes
) as kept`
const liveRelated = `(
  with edges as (
    select distinct observations.q, analysis.canonical(related_searches.q) as related
    from analysis.observations
    join search_related_searches using (search_id)
    join related_searches on related_searches.id = related_search_id
    where observations.q <> analysis.canonical(related_searches.q)
  )
  select
    null as run_date,
    concat_ws(
      ' ', node,
      (select count(*) from edges where related = node),
      (select count(*) from edges where q = node),
      (select count(*) from edges join edges as back on back.q = edges.related and back.related = edges.q where edges.q = node)
    ) as related
  from (select q as node from edges union select related from edges) as nodes
) as live`

/** Outcomes of the planned queries, and the same from the tasks. */
const outcomes = `(
  select run_date, concat_ws(' ', list, planned, answered, bought, reused, not_asked, unreadable, newest, oldest) as outcome
  from analysis.coverage
  where planned > 0
) as kept`
const liveOutcomes = `(
  select
    run_date,
    concat_ws(
      ' ', lists.name, count(*), count(*) filter (where outcome in ('bought', 'reused', 'not asked')),
      count(*) filter (where outcome = 'bought'), count(*) filter (where outcome = 'reused'),
      count(*) filter (where outcome = 'not asked'), count(*) filter (where outcome = 'unreadable'),
      max(fetched_at), min(fetched_at)
    ) as outcome
  from analysis.outcomes_between('-infinity', 'infinity')
  left join lists on lists.id = list_id
  group by run_date, lists.name
) as live`

const costs =
  'list, tag, calls, credits_used, answers, changed, unknown_calls, credits_unknown, credits_lost'

/** Rows of the views, and the same computed from the answers. */
async function expectTruth(): Promise<void> {
  for (const slice of slices) {
    expect(await linesOf(places, 'held', slice)).toEqual(await linesOf(livePlaces, 'held', slice))
    expect(await linesOf(related, 'related', slice)).toEqual(
      await linesOf(liveRelated, 'related', slice),
    )
    expect(await linesOf(known(31), 'known', slice)).toEqual(
      await linesOf(known(32), 'known', slice),
    )
    expect(await linesOf(outcomes, 'outcome', slice)).toEqual(
      await linesOf(liveOutcomes, 'outcome', slice),
    )
    const spent = await linesOf('analysis.costs', costs, slice)
    // If an answer is compared on a day other than its own, costs are computed from the answers.
    const { rows } = await run('select id from finished_days where not strays')
    await run('update finished_days set strays = true')
    expect(spent).toEqual(await linesOf('analysis.costs', costs, slice))
    const ids = rows.map(({ id }) => id)
    await run('update finished_days set strays = false where id = any ($1)', ids)
    expect(await linesOf('analysis.label_sets', counts, slice)).toEqual(
      await linesOf('analysis.live_labels', counts, slice),
    )
    expect(await linesOf('analysis.set_shares', sums, slice)).toEqual(
      await linesOf('analysis.live_shares', sums, slice),
    )
    expect(await linesOf(titles, 'titles', slice)).toEqual(
      await linesOf(liveTitles, 'titles', slice),
    )
    expect(await linesOf('analysis.confirmed_losses', `${losses}, base_position`, slice)).toEqual(
      await linesOf('analysis.live_losses', `${losses}, base_place >> 20`, slice),
    )
    expect(await linesOf(survival, 'stays', slice)).toEqual(
      await linesOf(liveSurvival, 'stays', slice),
    )
    expect(await linesOf(`(${lengths('stay_lengths')}) as kept`, 'stay', slice)).toEqual(
      await linesOf(`(${lengths('top_ten_stays where began')}) as live`, 'stay', slice),
    )
  }
  expect(await linesOf('analysis.step_days', steps)).toEqual(
    await linesOf('analysis.live_steps', steps),
  )
  expect(await linesOf(changes, 'change')).toEqual(await linesOf(liveChanges, 'change'))
  // Groups are not stored for slices, not even for one that contains all queries.
  expect(await linesOf(groups, 'found')).toEqual(await linesOf(groups, 'found', '[["-nobody"]]'))
  expect(await linesOf(switches, 'switch')).toEqual(await linesOf(liveSwitches, 'switch'))
  // Day by day, and all at once.
  expect(await broken(2)).toEqual([0, 0, 0, 0, 0, 0, 0, 0])
  expect(await broken()).toEqual([0, 0, 0, 0, 0, 0, 0, 0])
}

/** Violated checks of finished days. */
async function broken(days: number | null = null): Promise<readonly number[]> {
  const checks = await runChecks(scene.db, { zone: 'UTC', days })
  return checks
    .filter(({ name }) => name.includes(' finished day'))
    .map(({ violations }) => violations)
}

async function keptDays(): Promise<readonly string[]> {
  const { rows } = await scene.pool.query<{ day: string }>(
    'select run_date::text as day from finished_days where made_at is not null order by 1',
  )
  return rows.map(({ day }) => day)
}

/** Changes that may happen to finished days. */
const events: readonly ((day: string) => Promise<unknown>)[] = [
  // A lost answer arrives after all.
  (day) =>
    run(
      `insert into searches (id, call_id, task_id, query_id, fetched_at, depth, origin, api, result_count)
      select 900000 + tasks.id, 900000 + tasks.id, tasks.id, tasks.query_id, now(), 10, 'live', 'api.example.com', 0
      from tasks join runs on runs.id = tasks.run_id
      where runs.run_date = $1
        and not exists (select from searches where searches.id = 900000 + tasks.id)
      limit 1`,
      day,
    ),
  // An answer is parsed again, with a different result.
  () =>
    run(`with gone as (
        delete from organic_results
        where (search_id, ordinal) in (select search_id, min(ordinal) from organic_results group by 1 limit 2)
        returning *
      )
      insert into organic_results (search_id, ordinal, position, page_id, domain_id, title)
      select search_id, ordinal + 50, position + 2, page_id, domain_id, title
      from gone`),
  () =>
    run("update searches set parse_error = 'cut off' where id = (select max(id) from searches)"),
  () => run('delete from searches where id = (select min(id) from searches)'),
  (day) => run('update runs set suspect = not suspect where run_date = $1', day),
  (day) => run('update runs set run_date = run_date + 1 where run_date = $1', day),
  (day) =>
    scene.story.night(day, { hats: ['d1.com/', 'd2.com/'], shoes: 'reused' }, { list: 'late' }),
  () =>
    run(`update tasks set search_id = (select max(id) from searches where searches.query_id = tasks.query_id)
      where state = 'reused'`),
  () => run("update ctr_curve set ctr = ctr * 0.9 where position < 4 and curve = 'default'"),
  () =>
    run(`insert into own_domains (domain, label) values ('d1.com/1', 'Ours'), ('d2.com', 'Ours')
      on conflict do nothing`),
  () =>
    run(`insert into rival_domains (domain, label) values ('*.d3.com', 'They')
      on conflict do nothing`),
  () => run("delete from own_domains where domain = 'd1.com/1'"),
  () => run("update lists set name = name || ' renamed'"),
  () =>
    run("update list_queries set weight = coalesce(weight, 1) + 1, tags = tags || 'more'::text"),
  () => run('delete from tasks where id = (select max(id) from tasks)'),
]

describe('stored days', () => {
  test.each(histories)(
    'equal what their answers show, whatever changes behind them, history %i',
    async (seed) => {
      const roll = dice(seed)
      const days = await tellByChance(scene.story, { seed, days: 5 })
      await run("update runs set state = 'done', finished_at = now()")
      // Queries that belong to a slice only until the last night.
      await run(`insert into list_query_history (list_id, query_id, until, weight, target_url, tags)
        select list_id, query_id, (select max(created_at) from runs), weight, target_url, tags || 'more'::text
        from list_queries`)
      for (let round = 0; round < 4; round++) {
        // Later days may be stored before earlier ones.
        await finishDays(scene.db, Infinity, { since: days[roll(days.length)] })
        await finishDays(scene.db)
        expect(await anyUnfinished(scene.db)).toBe(false)
        const { rows } = await run('select from analysis.unfinished_days')
        expect(rows).toEqual([])
        await expectTruth()
        // The newest day is not stored yet.
        await run('delete from finished_days where run_date = (select max(run_date) from runs)')
        for (const slice of ['', '[["+device=mobile"]]']) {
          expect(await linesOf(survival, 'stays', slice)).toEqual(
            await linesOf(liveSurvival, 'stays', slice),
          )
        }
        for (let more = 1 + roll(2); more > 0; more--) {
          const event = events[roll(events.length)]
          await event?.(days[roll(days.length)] ?? '')
          await run("update runs set state = 'done' where state <> 'done'")
          await expectTruth()
        }
      }
    },
  )

  test.each([
    ['for the end of a run', () => endRuns(scene.db, { report: () => undefined })],
    ['for the sums of a day', () => finishDays(scene.db)],
  ])('are computed with statistics of the tables as they are: %s', async (_, end) => {
    // Otherwise, autovacuum could do it as well.
    await run('alter table tasks set (autovacuum_enabled = off)')
    const planned = Array.from(
      { length: 60 },
      (__, index) => [`query ${index}`, ['a.com/']] as const,
    )
    await scene.story.night('2026-01-01', Object.fromEntries(planned))
    await run("update runs set state = 'done', finished_at = now()")
    const tasks = async () => {
      const { rows } = await run(
        `select n_mod_since_analyze >= 60 as changed, last_analyze is not null as analyzed
        from pg_stat_user_tables where relname = 'tasks'`,
      )
      return rows
    }
    // Sessions report their changes after up to a second.
    await expect.poll(tasks, { timeout: 20_000 }).toEqual([{ changed: true, analyzed: false }])
    await end()
    expect(await tasks()).toMatchObject([{ analyzed: true }])
  })

  test('are read in place of their answers, for the shares of one domain and of all', async () => {
    await scene.story.night('2026-01-01', { shoes: ['a.com/'], boots: ['b.com/', 'a.com/'] })
    await run("update runs set state = 'done'")
    expect(await finishDays(scene.db)).toBe(1)
    // Nobody may do this, and verify reports it; here it shows which rows are read.
    await run("update finished_shares set ranked = 7 where domain = 'a.com'")
    const { rows } = await run(
      "select domain, ranked from analysis.share_of_voice where tag = '*' order by domain",
    )
    expect(rows).toEqual([
      { domain: 'a.com', ranked: 7 },
      { domain: 'b.com', ranked: 1 },
    ])
  })

  test('serve slices as well, and are not used for suspect nights, other origins or another curve', async () => {
    await scene.story.night('2026-01-01', { shoes: ['a.com/'] })
    await run("update runs set state = 'done'")
    await run("insert into ctr_curve values ('mine', 1, 0.5)")
    await finishDays(scene.db)
    await run('update finished_labels set queries = 7')
    const ask = async (setting?: string, value?: string) => {
      const client = await scene.pool.connect()
      if (setting !== undefined) {
        await client.query('select set_config($1, $2, false)', [setting, value])
      }
      const { rows } = await client.query<{ queries: number }>(
        "select queries from analysis.label_days where tag = '*'",
      )
      client.release(true)
      return rows[0]?.queries
    }
    expect(await ask()).toBe(7)
    expect(await ask('querymill.slice', '[["-new"]]')).toBe(7)
    expect(await ask('querymill.slice', '[["+new"]]')).toBe(undefined)
    expect(await ask('querymill.suspects', 'show')).toBe(1)
    expect(await ask('querymill.origins', 'live,test')).toBe(1)
    expect(await ask('querymill.ctr_curve', 'mine')).toBe(1)
  })

  test('end before the first unfinished day, and are stored again when a run is reopened', async () => {
    for (const night of ['2026-01-01', '2026-01-02', '2026-01-03']) {
      await scene.story.night(night, { shoes: ['a.com/'] })
    }
    await run(
      "update runs set state = case when run_date = '2026-01-02' then 'open' else 'done' end",
    )
    await finishDays(scene.db)
    expect(await keptDays()).toEqual(['2026-01-01'])
    await run("update runs set state = 'done'")
    expect(await finishDays(scene.db, 1)).toBe(1)
    expect(await keptDays()).toEqual(['2026-01-01', '2026-01-02'])
    await finishDays(scene.db)
    await run("update runs set state = 'open' where run_date = '2026-01-02'")
    expect(await keptDays()).toEqual(['2026-01-01'])
    await expectTruth()
  })

  test('do not include an answer that arrives while they are added up', async () => {
    await scene.story.night('2026-01-01', { shoes: ['a.com/'], boots: 'failed' })
    await run("update runs set state = 'done'")
    const late = await scene.pool.connect()
    await late.query('begin')
    await late.query(`insert into searches (id, call_id, task_id, query_id, fetched_at, depth, origin, api, result_count)
      select 900, 900, tasks.id, tasks.query_id, now(), 10, 'live', 'api.example.com', 0
      from tasks where state = 'failed'`)
    // The writer read before there were sums to delete. The process that adds up the day waits for it, and gives up in
    // the end.
    expect(await finishDays(scene.db)).toBe(0)
    await late.query('commit')
    late.release()
    expect(await finishDays(scene.db)).toBe(1)
    await expectTruth()
    const { rows } = await run("select queries from analysis.label_days where tag = '*'")
    expect(rows).toEqual([{ queries: 2 }])
  })

  test('do not say that an answer is reused after it was archived', async () => {
    await scene.story.night('2026-01-01', { shoes: ['a.com/'] })
    await scene.story.night('2026-01-02', { shoes: 'reused' })
    await run("update runs set state = 'done'")
    await finishDays(scene.db)
    const covered = async () => {
      expect(await linesOf(outcomes, 'outcome')).toEqual(await linesOf(liveOutcomes, 'outcome'))
      const { rows } = await run('select reused, archived from analysis.coverage order by run_date')
      return rows.map(({ reused, archived }) => [reused, archived])
    }
    expect(await covered()).toEqual([
      [0, 0],
      [1, 0],
    ])
    await run(`insert into archived_days (run_date, part, folder, manifest_sha256, answers, moved_rows, bytes)
      values ('2026-01-01', 1, 'archive', 'none', 1, 1, 1)`)
    await run(
      'begin; set local querymill.archiving = on; update searches set archived = true; commit',
    )
    expect(await covered()).toEqual([
      [0, 1],
      [0, 1],
    ])
    expect(await broken()).toEqual([0, 0, 0, 0, 0, 0, 0, 0])
  })

  test('show that a query was outside a slice on an archived day', async () => {
    await scene.story.night('2026-01-01', { shoes: ['a.com/'] })
    await scene.story.night('2026-01-02', { shoes: ['a.com/'] })
    await run("update runs set state = 'done'")
    await finishDays(scene.db)
    await run(`insert into archived_days (run_date, part, folder, manifest_sha256, answers, moved_rows, bytes)
      values ('2026-01-02', 1, 'archive', 'none', 1, 1, 1)`)
    // The sums of the first day are stored again, after the query got a label.
    await run("update finished_labels set set_id = 7, labels = '{new}' where finish_id = 1")
    await run('update finished_queries set set_id = 7 where finish_id = 1')
    const { rows } = await run(`select always
      from set_config('querymill.slice', '[["+new"]]', true)
      cross join lateral (select * from analysis.sliced_queries() offset 0) as sliced`)
    expect(rows).toEqual([{ always: false }])
  })

  test('that were changed by hand are found by verify, in their counts, sums and missing rows', async () => {
    await scene.story.night('2026-01-01', { shoes: ['a.com/', 'b.com/'], boots: ['b.com/'] })
    await run("update runs set state = 'done'")
    await finishDays(scene.db)
    expect(await broken()).toEqual([0, 0, 0, 0, 0, 0, 0, 0])
    await run("update finished_steps set since = '{7}'")
    expect(await broken(1)).toEqual([0, 0, 2, 0, 0, 0, 0, 1])
    await run('update finished_steps set since = null')
    await run('update finished_labels set planned = planned + 1')
    expect(await broken()).toEqual([1, 0, 0, 0, 0, 0, 0, 0])
    await run("update finished_shares set clicks = clicks + 0.001 where domain = 'a.com'")
    await run("delete from finished_shares where domain = 'b.com'")
    expect(await broken()).toEqual([1, 2, 0, 0, 0, 0, 0, 0])
    await run('update finished_steps set depth = 3')
    expect(await broken()).toEqual([1, 2, 2, 0, 0, 0, 0, 0])
    await run('delete from seen_pages')
    expect(await broken()).toEqual([1, 2, 2, 0, 3, 0, 0, 0])
    await run(`insert into finished_losses
      select finish_id, query_id, 'c.com', search_id, '2026-01-01', 1048577, null, true from finished_steps`)
    expect(await broken()).toEqual([1, 2, 2, 2, 3, 0, 0, 0])
    await run('update finished_answers set places = array_fill(7, array[cardinality(places)])')
    expect(await broken()).toEqual([1, 2, 2, 2, 3, 2, 0, 0])
    await run('update finished_outcomes set queries = queries + 1')
    expect(await broken()).toEqual([1, 2, 2, 2, 3, 2, 1, 0])
    await run('insert into finished_stays select id, 1, true, 1, 1 from finished_days')
    expect(await broken()).toEqual([1, 2, 2, 2, 3, 2, 1, 1])
  })

  test('are computed again by verify, as many as requested, chosen at random', async () => {
    const nights = ['2026-01-01', '2026-01-02', '2026-01-03']
    for (const night of nights) await scene.story.night(night, { shoes: ['a.com/'] })
    await run("update runs set state = 'done'")
    await finishDays(scene.db)
    await run('update finished_labels set planned = planned + 1')
    expect(await broken(0)).toEqual([0, 0, 0, 0, 0, 0, 0, 0])
    expect(await broken(2)).toEqual([2, 0, 0, 0, 0, 0, 0, 0])
    expect(await broken()).toEqual([3, 0, 0, 0, 0, 0, 0, 0])
  })
})
