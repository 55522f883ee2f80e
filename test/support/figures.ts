// const told = await tellFigures(mill, { lists: ['shop'], since, until }) computes costs and results of runs from calls
// and tasks, and reads every place that shows them; `await expectSameRuns(told)` and the other functions compare them.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished } from 'vitest'
import { takeNews } from './news.ts'
import { wordsOf } from '../desk/scene.ts'
import { openDesk } from './desk.ts'
import type { TestMill } from './mill.ts'
import { run } from './run.ts'

/** Cost and results of one run. */
export interface RunTruth {
  readonly run: number
  readonly list: string
  readonly run_date: string
  readonly used: number
  readonly uncertain: number
  readonly planned: number
  readonly answered: number
}

type Row = Readonly<Record<string, unknown>>

export interface ToldFigures {
  readonly truth: readonly RunTruth[]
  /** In the order of their ids. */
  readonly lists: readonly string[]
  readonly since: string
  readonly until: string
  readonly zone: string
  /** The domain with the largest share on a day, which is marked as ours, and its share. */
  readonly best: { readonly domain: string; readonly share: number; readonly day: string }
  readonly command: (name: string, args: readonly string[]) => Promise<string>
  readonly page: (path: string) => Promise<{ words: string; text: string }>
}

/** Runs of these lists on these days, which were bought today. */
export async function tellFigures(
  mill: TestMill,
  { lists, since, until }: Pick<ToldFigures, 'lists' | 'since' | 'until'>,
): Promise<ToldFigures> {
  const { rows: truth } = await mill.pool.query<RunTruth>(`
    select runs.id as run, lists.name as list, runs.run_date,
      coalesce(sum(bills.used), 0)::integer as used, coalesce(sum(bills.uncertain), 0)::integer as uncertain,
      count(*)::integer as planned,
      count(*) filter (
        where tasks.state in ('answered', 'reused') and searches.parse_error is null and not runs.suspect
          and not exists (select from quarantine where quarantine.search_id = searches.id)
      )::integer as answered
    from runs
    join lists on lists.id = runs.list_id
    join tasks on tasks.run_id = runs.id
    left join searches on searches.id = tasks.search_id
    left join lateral (
      select
        sum(calls.credits_used) filter (where calls.outcome = 'settled') as used,
        sum(calls.credits_reserved) filter (where calls.outcome = 'unknown') as uncertain
      from calls
      where calls.task_id = tasks.id
    ) as bills on true
    group by runs.id, lists.name
    order by runs.id`)
  // A server does this automatically after a while.
  await mill.pool.query('analyze')
  const { rows: shares } = await mill.pool.query<ToldFigures['best']>(`
    select domain, share_of_voice as share, run_date as day from analysis.share_of_voice
    where tag = '*' and run_date = (select max(run_date) from analysis.share_of_voice where tag = '*')
    order by domain in (select domain from own_domains) desc, share_of_voice desc, domain limit 1`)
  const [best] = shares
  if (best === undefined) throw new Error('expected a share of a domain')
  await mill.pool.query(
    'insert into own_domains (domain, label) values ($1, $1) on conflict do nothing',
    [best.domain],
  )
  const zone = 'UTC'
  const desk = await openDesk(mill.databaseUrl, { settings: { MILL_ZONE: zone } })
  onTestFinished(() => desk.close())
  return {
    ...{ truth, lists, since, until, zone, best },
    command: async (name, args) => {
      const result = await run(name, [...args], { ...mill.env, MILL_ZONE: zone })
      expect(result, name).toMatchObject({ code: 0 })
      return result.stdout
    },
    page: async (path) => {
      const { text } = await desk.get(path)
      return { text, words: wordsOf(text) }
    },
  }
}

async function ask({ command }: ToldFigures, args: readonly string[]): Promise<Row[]> {
  const text = await command('sql', [...args, '--format', 'json'])
  return (JSON.parse(text) as { rows: Row[] }).rows
}

async function exported({ command }: ToldFigures, view: string): Promise<Row[]> {
  const text = await command('export', [view, '--to', '-', '--format', 'ndjson'])
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Row)
}

async function reported(told: ToldFigures, args: readonly string[]): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'figures-'))
  try {
    const file = join(folder, 'report.html')
    await told.command('report', ['--to', file, ...args])
    return wordsOf(readFileSync(file, 'utf8').replace(/<style[^]*?<\/style>/, ''))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function withNote({ used, uncertain }: RunTruth): string {
  return uncertain === 0 ? `${used}` : `${used} + ${uncertain} uncertain`
}

/** Each run's credits: status, four pages, report and notice. */
export async function expectSameRuns(told: ToldFigures, mill: TestMill): Promise<void> {
  const { truth, since, until, command, page } = told
  const notices = await takeNews(mill.db, ['run_finished'])
  const operations = await page('/operations')
  const nights = (await page(`/nights?since=${since}&until=${until}`)).words
  const report = await reported(told, ['--since', since, '--until', until])
  // Only the newest runs and nights are listed.
  for (const one of truth.slice(-30)) {
    const { run: id, list, run_date: date, used, uncertain } = one
    const { runs } = JSON.parse(await command('status', ['--json', '--run', String(id)])) as {
      runs: Row[]
    }
    expect(runs).toEqual([expect.objectContaining({ run: id, spent: used, uncertain })])
    const own = await page(`/runs/${id}`)
    expect(own.text).toContain(`data-figure="spent" data-value="${used}"`)
    expect(own.words).toContain(`credits used ${withNote(one)} `)
    const line = new RegExp(
      String.raw`${date} ${list} ${id} \S+ \w+ \d+ of \d+ (\d+( \+ \d+ uncertain)?)`,
    )
    for (const words of [nights, report]) expect(line.exec(words)?.[1]).toBe(withNote(one))
    const notice = notices.find(({ fields }) => fields['run'] === id)
    expect(notice?.fields).toMatchObject({ spent: used, uncertain })
    expect(notice?.text).toContain(`; ${used} credits used`)
    expect(notice?.text.includes(`possibly ${uncertain} more`)).toBe(uncertain > 0)
  }
  for (const { run: id, used } of truth.slice(-5)) {
    expect(operations.text).toContain(`data-figure="runs.${id}.spent" data-value="${used}"`)
  }
}

/** Credits and coverage for each list and day: two questions, an export, and the list's page. */
export async function expectSameDays(told: ToldFigures): Promise<void> {
  const { truth, lists, since, until, page } = told
  const nights = await ask(told, ['nights', '--since', since, '--until', until])
  const costs = await ask(told, ['nights', '--show', 'costs'])
  const coverage = await exported(told, 'coverage')
  const pages: string[] = []
  for (const id of lists.keys()) {
    pages.push((await page(`/lists/${id + 1}?since=${since}&until=${until}`)).words)
  }
  for (const { list, run_date: date, used, uncertain, planned, answered } of truth) {
    const own = (all: readonly Row[]) =>
      all.find((one) => one['list'] === list && one['run_date'] === date)
    for (const found of [own(nights), own(coverage)]) {
      expect(found).toMatchObject({ credits_spent: used, planned, answered })
    }
    expect(own(costs)).toMatchObject({ credits_used: used, credits_unknown: uncertain })
    const share = ((100 * answered) / planned).toFixed(2)
    expect(pages[lists.indexOf(list)]).toMatch(
      new RegExp(String.raw`${date} ${share} % ${planned} [\d ]+ ${used} `),
    )
  }
}

/** Sums for lists and for the account: their pages, a question, the report, and the API's charges. */
export async function expectSameSums(told: ToldFigures, taken: number): Promise<void> {
  const { truth, lists, since, until, page } = told
  const money = (await page('/money')).words
  const sum = (of: 'used' | 'uncertain', rows: readonly RunTruth[]) =>
    rows.reduce((total, one) => total + one[of], 0)
  for (const [id, list] of lists.entries()) {
    const own = truth.filter((one) => one.list === list)
    const { words } = await page(`/lists/${id + 1}?since=${since}&until=${until}`)
    const used = sum('used', own).toLocaleString('en')
    expect(words).toContain(`credits in this period ${used} `)
    expect(money).toMatch(
      new RegExp(String.raw` ${list} [\d,]+ ${used} [\d,]+ [\d.]+ \d+ ${sum('uncertain', own)} `),
    )
  }
  const used = sum('used', truth)
  const shown = used.toLocaleString('en')
  expect(money).toContain(`used by our calls in this period ${shown} `)
  const [account] = await ask(told, ['nights', '--show', 'balance'])
  expect(account).toMatchObject({ credits_used: used, credits_unexplained: 0 })
  expect(used + Number(account?.['credits_unknown'])).toBe(taken)
  expect(await reported(told, ['--since', since, '--until', until])).toContain(
    `credits used for them ${shown} `,
  )
}

/** A domain's share on a day: a question, an export, four pages and both reports. */
export async function expectSameShare(told: ToldFigures): Promise<void> {
  const { best, page, since } = told
  const { domain, share, day } = best
  const days = `since=${since}&until=${day}`
  const shown = `${(100 * share).toFixed(2)} %`
  const own = (all: readonly Row[]) =>
    all.find((one) => one['domain'] === domain && one['run_date'] === day)
  expect(own(await ask(told, ['shares', '--day', day, '--top', '1000']))).toMatchObject({
    share_of_voice: expect.closeTo(share, 4),
  })
  const all = await exported(told, 'share_of_voice')
  expect(own(all.filter((one) => one['tag'] === '*'))).toMatchObject({
    share_of_voice: expect.closeTo(share, 9),
  })
  expect((await page(`/domains?${days}`)).words).toContain(`${domain} ours ${shown}`)
  expect((await page(`/domains/${domain}?${days}`)).words).toContain(
    `share of voice on ${day} ${shown}`,
  )
  expect((await page('/')).words).toContain(`share of voice of our domains ${shown}`)
  expect((await page('/compare')).words).toMatch(new RegExp(`${domain} (–|[\\d.]+ %) ${shown}`))
  expect(await reported(told, ['--since', since, '--until', day])).toContain(
    `share of voice on ${day} ${shown}`,
  )
  expect(await reported(told, ['--summary'])).toContain(`${day}: share of voice ${shown}`)
}
