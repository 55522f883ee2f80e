import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { beforeEach, describe, expect, test } from 'vitest'
import type { Mill } from '../../../src/core/mill.ts'
import { Scheduler } from '../../../src/core/scheduler/scheduler.ts'
import type { TestMill } from '../../support/mill.ts'
import { openScene } from '../../support/scene.ts'

let mill: TestMill
let file: string
let said: string[]

const header = 'schedule,list,cron,zone,max_age,budget,priority,missed,overlap,on'

beforeEach(async () => {
  ;({ mill } = await openScene())
  said = []
  const { home } = mill.config
  file = join(home, 'schedules.csv')
  writeFileSync(join(home, 'words.csv'), 'query\nred shoes\nblue shoes\n')
  writeFileSync(
    file,
    [header, `often,${home}/words.csv,* * * * *,UTC,0,,,latest,skip,yes`, 'bad,,,,,,,,,', ''].join(
      '\n',
    ),
  )
})

function schedulerOf(changes: Partial<Mill> = {}): Scheduler {
  return new Scheduler({ ...mill, ...changes }, { file, report: (line) => said.push(line) })
}

/** As if schedulers had last checked some minutes ago. */
async function lookedBefore(): Promise<void> {
  await sql`
    insert into schedules (name, list, cron, zone, missed, overlap, enabled, known_until, seen_at)
    values (
      'often', 'words', '* * * * *', 'UTC', 'latest', 'skip', true,
      now() - interval '3 minutes', now() - interval '3 minutes'
    )`.execute(mill.db)
}

async function runs(): Promise<number> {
  const { rows } = await sql<{ runs: number }>`
    select count(*) as runs from nights where run_id is not null`.execute(mill.db)
  return rows[0]?.runs ?? 0
}

async function outcomes(): Promise<readonly (string | null)[]> {
  const { rows } = await sql<{ outcome: string | null }>`
    select outcome from nights order by due_at`.execute(mill.db)
  return rows.map(({ outcome }) => outcome)
}

describe('a scheduler', () => {
  test('plans and queues due nights', async () => {
    await lookedBefore()
    const scheduler = schedulerOf()
    await scheduler.tryTick()
    expect(scheduler.trouble).toBeNull()
    expect(await runs()).toBe(1)
    expect((await (await mill.queue()).count()).jobs).toBe(1)
    await scheduler.close()
  })

  test('adds up a day when its runs have ended, which a worker does not', async () => {
    const days = async () => {
      const { rows } = await sql`select from finished_days where made_at is not null`.execute(
        mill.db,
      )
      return rows.length
    }
    await mill.plan(['shoes'])
    await mill.drain()
    expect(await days()).toBe(0)
    const scheduler = schedulerOf()
    await scheduler.tick()
    expect(await days()).toBe(1)
    await scheduler.close()
  })

  test('reports each problem of its file once', async () => {
    const scheduler = schedulerOf()
    for (let ticks = 0; ticks < 3; ticks++) await scheduler.tick()
    expect(said.filter((line) => line.includes(`${file}:3: cron`))).toHaveLength(1)
    await scheduler.close()
  })

  test('continues with the last schedules when their file is missing, and says so once', async () => {
    const scheduler = schedulerOf()
    await scheduler.tick()
    rmSync(file)
    await sql`
      update schedules set known_until = now() - interval '3 minutes'`.execute(mill.db)
    await scheduler.tick()
    await scheduler.tick()
    expect(await runs()).toBe(1)
    expect(
      said.filter((line) => line.includes('previously read schedules remain in effect')),
    ).toHaveLength(1)
    await scheduler.close()
  })

  test.each(['', '\ufeff\n'])(
    'whose file is %j, as in the middle of a rewrite, loses no night',
    async (text) => {
      await lookedBefore()
      const whole = readFileSync(file)
      writeFileSync(file, text)
      const scheduler = schedulerOf()
      await scheduler.tryTick()
      expect(scheduler.trouble).toContain('to begin with a header')
      writeFileSync(file, whole)
      await scheduler.tryTick()
      const found = await outcomes()
      expect(found.length).toBeGreaterThanOrEqual(3)
      expect(found.at(-1)).toBe('ran')
      writeFileSync(file, text)
      await sql`update schedules set known_until = now() - interval '9 minutes'`.execute(mill.db)
      await scheduler.tick()
      expect(
        said.filter((line) => line.includes('previously read schedules remain in effect')),
      ).toHaveLength(1)
      expect((await outcomes()).length).toBeGreaterThan(found.length)
      await scheduler.close()
    },
  )

  test('that could never read its file fails the tick with the reason', async () => {
    rmSync(file)
    const scheduler = schedulerOf()
    await scheduler.tryTick()
    expect(scheduler.trouble).toContain(file)
    await scheduler.close()
  })

  test('with an unreachable queue plans the night anyway, and no second run later', async () => {
    await lookedBefore()
    const scheduler = schedulerOf({ config: { ...mill.config, redisUrl: 'redis://127.0.0.1:1' } })
    await scheduler.tryTick()
    expect(scheduler.trouble).toContain('REDIS_URL')
    expect(await runs()).toBe(1)
    await scheduler.close()
    const later = schedulerOf()
    await later.tryTick()
    expect(later.trouble).toBeNull()
    expect(await runs()).toBe(1)
    await later.close()
  })
})
