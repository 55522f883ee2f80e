// @module-tag slow
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openReceiver } from '../../features/notifications/receiver.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { run, start } from '../../support/run.ts'

// Each test starts several programs, which takes time on a busy machine.
let database: FreshDatabase
let folder: string
let env: Record<string, string>

beforeEach(async () => {
  database = await freshDatabase()
  folder = mkdtempSync(join(tmpdir(), 'querymill-nightly-'))
  env = { DATABASE_URL: database.url, MILL_HOME: folder }
  writeFileSync(join(folder, 'words.csv'), 'query\nred shoes\nblue shoes\n')
})

afterEach(async () => {
  await database.close()
  rmSync(folder, { recursive: true })
})

function schedules(...lines: string[]): string {
  const file = join(folder, 'schedules.csv')
  const header = 'schedule,list,cron,zone,max_age,budget,priority,missed,overlap,on'
  writeFileSync(file, [header, ...lines, ''].join('\n'))
  return file
}

const line = (name: string, cron: string, zone = 'Europe/Berlin') =>
  `${name},${join(folder, 'words.csv')},${cron},${zone},0,,,latest,skip,yes`

/** As if a scheduler had last checked some time ago. */
async function lookedBefore(
  name: string,
  cron: string,
  { zone = 'Europe/Berlin', ago = '30 minutes' } = {},
): Promise<void> {
  await sql`
    insert into schedules (name, list, cron, zone, missed, overlap, enabled, known_until, seen_at)
    values (
      ${name}, 'words', ${cron}, ${zone}, 'latest', 'skip', true,
      now() - ${ago}::interval, now() - ${ago}::interval
    )`.execute(database.db)
}

describe('the command for nights', () => {
  test('shows each schedule in a sentence with its zone, its next three times and its last night', async () => {
    // Due twenty minutes ago, so that no other due time can pass during the test. Tokyo never changes its clocks.
    const due = new Date(Date.now() - 20 * 60_000)
    const hour = (due.getUTCHours() + 9) % 24
    const cron = `${due.getUTCMinutes()} ${hour} * * *`
    const zone = 'Asia/Tokyo'
    const file = schedules(line('often', cron, zone), line('bad', '0 3 * *'))
    await lookedBefore('often', cron, { zone, ago: '50 hours' })
    const before = await run('nightly', ['--show', '--file', file], env)
    expect(before.code).toBe(1)
    expect(before.stderr).toMatch(
      /^OVERDUE: often, due \d{4}-\d\d-\d\d \d\d:\d\d UTC: no outcome was recorded/m,
    )
    const clock = [hour, due.getUTCMinutes()].map((part) => String(part).padStart(2, '0')).join(':')
    expect(before.stdout).toContain(`often: At ${clock}, Asia/Tokyo`)
    expect(before.stdout).toMatch(/next +(\d{4}-\d\d-\d\d \d\d:\d\d(, )?){3}\n/)
    expect(before.stdout).toContain('none yet')
    expect(before.stdout).toContain('OVERDUE')
    expect(before.stdout).toContain('line 3 was refused: cron: expected five cron fields')

    expect((await run('nightly', ['--once', '--file', file], env)).code).toBe(0)
    const after = await run('nightly', ['--show', '--json', '--file', file], env)
    const { schedules: shown, refused } = JSON.parse(after.stdout)
    expect(shown).toMatchObject([
      {
        schedule: 'often',
        next: [expect.any(String), expect.any(String), expect.any(String)],
        last: { outcome: expect.stringMatching(/^(ran|late)$/), state: 'open', tasks: 2, open: 2 },
        overdue: [],
      },
    ])
    expect(shown[0].lately.missed).toBeGreaterThanOrEqual(1)
    expect(refused).toMatchObject([{ line: 3 }])
    const status = await run('status', [], env)
    expect(status.stdout).toMatch(/nightly often: last .*0 of 2 tasks done; next /)
  })

  test('with --once, names invalid lines on stderr, runs the valid ones, and prints nothing on stdout', async () => {
    const file = schedules(line('bad', '0 0 3 * * *'), line('good', '*/10 * * * *'))
    await lookedBefore('good', '*/10 * * * *')
    const { code, stdout, stderr } = await run('nightly', ['--once', '--file', file], env)
    expect({ code, stdout }).toEqual({ code: 0, stdout: '' })
    expect(stderr).toContain(`${file}:2: cron: expected five cron fields`)
    expect(stderr).toMatch(/good, due .*, is run \d+/)
  })

  test('without any valid line, exits with code 2', async () => {
    const file = schedules(line('bad', '0 3 * *'))
    expect((await run('nightly', ['--once', '--file', file], env)).code).toBe(2)
    expect((await run('nightly', ['--show', '--file', file], env)).code).toBe(2)
  })

  test('without its file, exits with code 2 and names the file', async () => {
    const file = join(folder, 'nothing.csv')
    const { code, stderr } = await run('nightly', ['--once', '--file', file], env)
    expect(code).toBe(2)
    expect(stderr).toContain(file)
  })

  test('with --once, sends its notices before it ends', async () => {
    const receiver = await openReceiver()
    const file = schedules(line('good', '*/10 * * * *'))
    await lookedBefore('good', '*/10 * * * *')
    const { code, stderr } = await run('nightly', ['--once', '--file', file], {
      ...env,
      MILL_WEBHOOK: receiver.url.href,
    })
    await receiver.close()
    expect({ code, events: receiver.bodies().map(({ event }) => event) }, stderr).toEqual({
      code: 0,
      events: expect.arrayContaining(['night_missed']),
    })
  })

  test('with --once, does not wait forever for a silent receiver, and keeps the notice', async () => {
    const receiver = await openReceiver()
    receiver.statuses = ['never', 'never', 'never']
    const file = schedules(line('good', '*/10 * * * *'))
    await lookedBefore('good', '*/10 * * * *')
    const { code, stderr } = await run('nightly', ['--once', '--file', file], {
      ...env,
      MILL_WEBHOOK: receiver.url.href,
      MILL_WEBHOOK_EVENTS: 'night_missed',
    })
    await receiver.close()
    expect(code).toBe(0)
    expect(stderr).toMatch(/TimeoutError; unsent notices are kept and sent later/)
    const { notices } = JSON.parse((await run('notify', ['--json'], env)).stdout)
    expect(notices).toMatchObject([{ event: 'night_missed', state: 'waiting', tries: 1 }])
  })

  test('with a night that still waits when the next is due, says so and exits with 1', async () => {
    const file = schedules(line('often', '*/10 * * * *').replace('latest,skip', 'all,queue'))
    await sql`
      with list as (
        insert into lists (name, source) values ('words', 'words.csv') returning id
      ),
      run as (
        insert into runs (list_id, run_date, kind, state)
        select id, current_date, 'nightly', 'open' from list
      )
      insert into nights (schedule, due_at, run_date)
      values ('often', date_trunc('hour', now() - interval '2 hours'), current_date)`.execute(
      database.db,
    )
    await lookedBefore('often', '*/10 * * * *')
    const { code, stderr } = await run('nightly', ['--once', '--file', file], env)
    expect(stderr).toMatch(/^OVERDUE: often, due .*: the night is still waiting for an older run/m)
    expect(code).toBe(1)
  })

  test('as a service, serves probes and metrics on its port, and shuts down gracefully', async () => {
    const file = schedules(line('often', '*/10 * * * *'))
    const service = start('nightly', ['--file', file], { ...env, MILL_METRICS_PORT: '0' })
    const said = JSON.parse(await service.line('health and metrics on'))
    const [address] = /http:\S+/.exec(said.msg) ?? ['']
    expect((await fetch(`${address}/livez`)).status).toBe(200)
    expect((await fetch(`${address}/readyz`)).status).toBe(200)
    expect(await (await fetch(`${address}/metrics`)).text()).toContain('querymill_nights_overdue 0')
    service.kill('SIGTERM')
    expect((await service.ended).code).toBe(0)
  })
})
