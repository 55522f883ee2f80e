// Results of expansion rounds, compared with answers written by hand.
import { describe, expect, test } from 'vitest'
import { storyScene } from './scene.ts'

const scene = storyScene()

/** Adds the queries of a run of the list `more` to a round, each named for another. */
async function take(night: Record<string, string>, round: number, more: { origin?: string } = {}) {
  const { origin = 'live' } = more
  for (const [q, from] of Object.entries(night)) {
    await scene.pool.query(
      `insert into expansions
        (list_id, query_id, source_list_id, origin, round, from_query, sources, weight, run_id)
      select took.id, $1, main.id, $4, $2, $3, 1, 1, (select max(run_id) from tasks where query_id = $1)
      from lists as took, lists as main
      where took.name = 'more' and main.name = 'main'`,
      [scene.story.idOf(q), round, scene.story.idOf(from), origin],
    )
  }
}

const rounds = () =>
  scene.ask(`select round, queries, open, answers, failed, unaffordable, credits_used,
    pages, new_pages, domains, new_domains, new_domains_per_answer, new_domains_per_credit
    from analysis.expansion_rounds order by round`)

describe('a round of an expansion', () => {
  test('counts the pages and domains that its answers were the first to show', async () => {
    await scene.story.night('2026-01-01', { seed: ['a.com/1', 'b.com/1'] })
    await scene.story.night(
      '2026-01-02',
      {
        one: { results: ['a.com/1', 'a.com/2', 'c.com/1'], credits: 2 },
        two: { results: ['c.com/1', 'c.com/2', 'd.com/1'], credits: 2 },
      },
      { list: 'more' },
    )
    await scene.story.night('2026-01-03', { three: ['d.com/1', 'd.com/9'] }, { list: 'more' })
    // Pages that others showed later still count for the round.
    await scene.story.night('2026-01-04', { seed: ['d.com/9', 'c.com/2', 'z.com/1'] })
    await take({ one: 'seed', two: 'seed' }, 1)
    await take({ three: 'one' }, 2)
    expect(await rounds()).toEqual([
      [1, 2, 0, 2, 0, 0, 4, 5, 4, 3, 2, 1, 0.5],
      [2, 1, 0, 1, 0, 0, 1, 2, 1, 1, 0, 0, 0],
    ])
  })

  test('shows failed, open and cancelled queries, and never divides by zero', async () => {
    await scene.story.night('2026-01-01', { seed: ['a.com/1'] })
    await scene.story.night(
      '2026-01-02',
      { bad: 'failed', lost: 'unknown', cut: 'cancelled', odd: { unreadable: true } },
      { list: 'more' },
    )
    await take({ bad: 'seed', lost: 'seed', cut: 'seed', odd: 'seed' }, 1)
    await scene.pool.query(
      `update expansions set run_id = null where query_id = '${scene.story.idOf('bad')}'`,
    )
    expect(await rounds()).toEqual([[1, 4, 1, 0, 1, 1, 1, 0, 0, 0, 0, null, 0]])
  })

  test('counts answers of the shown origins', async () => {
    await scene.story.night('2026-01-01', { seed: ['a.com/1'] }, { origin: 'sandbox' })
    await scene.story.night('2026-01-02', { one: ['a.com/1'] }, { list: 'more', origin: 'sandbox' })
    await scene.story.night('2026-01-02', { two: ['a.com/1'] }, { list: 'more' })
    await take({ one: 'seed' }, 1, { origin: 'sandbox' })
    await take({ two: 'seed' }, 1)
    const shown = 'select queries, answers, new_pages from analysis.expansion_rounds'
    expect(await scene.ask(shown)).toEqual([[1, 1, 1]])
  })
})
