// @module-tag slow
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { run } from '../../support/run.ts'
import { openScene, queries } from '../../support/scene.ts'

test.each([
  { planned: 'no budget', flags: [], left: 6 },
  { planned: 'a greater budget', flags: ['--budget', '50'], left: 6 },
  { planned: 'a smaller budget', flags: ['--budget', '4'], left: 4 },
])(
  'a night that joins a run of $planned leaves it at most its own budget',
  async ({ flags, left }) => {
    const { api, mill } = await openScene()
    const { home } = mill.config
    const list = join(home, 'words.csv')
    writeFileSync(list, `q\n${queries(15).join('\n')}\n`)
    expect((await run('enqueue', [list, ...flags], mill.env)).code).toBe(0)
    writeFileSync(list, `q\n${queries(20).join('\n')}\n`)
    const file = join(home, 'schedules.csv')
    writeFileSync(
      file,
      `schedule,list,cron,zone,max_age,budget,priority,missed,overlap,on\nwords,${list},* * * * *,UTC,0,6,,latest,merge,yes\n`,
    )
    await sql`
      insert into schedules (name, list, cron, zone, missed, overlap, enabled, known_until, seen_at)
      values (
        'words', 'words', '* * * * *', 'UTC', 'latest', 'merge', true,
        now() - interval '3 minutes', now() - interval '3 minutes'
      )`.execute(mill.db)
    expect((await run('nightly', ['--once', '--file', file], mill.env)).code).toBe(0)
    expect(await mill.states()).toEqual({ open: 20 })
    expect(await mill.drain()).toMatchObject({ finish: 'budget', answered: left })
    expect(api.charges()).toHaveLength(left)
  },
)
