import { describe, expect, test } from 'vitest'
import type { ForecastStep } from '../../../src/core/forecast/forecast.ts'
import { formatStatus, type StatusView } from '../../../src/core/runs/status-command.ts'

type Run = StatusView['runs'][number]
type Account = NonNullable<StatusView['account']>

const noTasks = {
  open: 0,
  answered: 0,
  reused: 0,
  not_asked: 0,
  failed: 0,
  unknown: 0,
  unaffordable: 0,
  cancelled: 0,
}

function run(number: number, tasks: Partial<Run['tasks']>): Run {
  return {
    run: number,
    list: `list-${number}`,
    run_date: '2026-11-21',
    kind: 'manual',
    state: 'open',
    tasks: { ...noTasks, ...tasks },
    unreadable: 0,
    paid_refusal: 0,
    other_query: 0,
    rejected: 0,
    spent: 0,
    uncertain: 0,
    reserved: 0,
    budget: null,
    created_at: '2026-11-21T10:00:00Z',
    finished_at: null,
  }
}

const account: Account = {
  id: 1,
  name: 'api.example',
  kind: 'live',
  remaining: 500,
  observed_at: '2026-11-21T10:00:00Z',
  observed_ago_s: 5,
  reserved: 0,
  uncertain: 0,
  in_flight: 0,
  floor: null,
  workers: 0,
  ...{ day_spent: 0, month_spent: 0, external_per_call: 0 },
  stops: [],
}

type Forecast = NonNullable<StatusView['forecast']>

function forecastOf(
  steps: readonly Partial<ForecastStep>[],
  more: Partial<Forecast> = {},
): Forecast {
  const step = {
    ...{ kind: 'run' as const, name: '1', list: 'shoes', at: 0, asked: 1, fresh: 0, bought: 1 },
    ...{ credits: 1, worst: 1, after: 499, cut: null, sure: true, floorAt: null },
  }
  return {
    ...{ now: new Date(0), until: new Date(7 * 86_400_000), balance: 500, observed_at: null },
    ...{ floor: 100, calls_per_minute: 60, isShorter: false, schedules: 0 },
    ...{ without_figure: [], renewal: null },
    outcome: { kind: 'known', steps: steps.map((one) => ({ ...step, ...one })) },
    ...more,
  }
}

function view(more: Partial<StatusView> = {}): StatusView {
  return {
    runs: [run(1, { open: 1 })],
    older: 0,
    account,
    accountName: account.name,
    prices: [],
    origin: 'live',
    floor: 100,
    queue: { backend: 'postgres', jobs: 1, paused: false },
    endedLastMinute: 1,
    forecast: forecastOf([]),
    zone: 'UTC',
    nights: [],
    ...more,
  }
}

describe('the status', () => {
  test('says how long open tasks will take, with singular forms', () => {
    const lines = formatStatus(view()).split('\n')
    expect(lines).toContain('queue on postgres: 1 job')
    expect(lines).toContain('1 open task, 1 call ended in the last minute: about 1 s to go')
    const many = formatStatus(view({ runs: [run(1, { open: 300 })] }))
    expect(many).toContain('about 5 min to go')
  })

  test('says how far the credits suffice and when the credit floor will be reached', () => {
    const stop = { asked: 300, bought: 200, cut: 'floor', sure: false, floorAt: 200_000 } as const
    const shown = formatStatus(
      view({ runs: [run(1, { open: 300 })], forecast: forecastOf([stop]) }),
    )
    expect(shown).toContain('the credits last for 200 tasks, or about 4 min')
    expect(shown).toContain(
      'forecast: the credit floor is reached around 1970-01-01 00:03: shoes stops after 200 of 300 queries',
    )
  })

  test('shows no estimate while the account is stopped', () => {
    const stop = { reason: 'credit_floor', since: '10:00', until: null, detail: 'low' }
    const shown = formatStatus(view({ account: { ...account, stops: [stop] } }))
    expect(shown).not.toContain('min to go')
    expect(shown.split('\n')).toContain('1 open task')
  })

  test('says how many runs it leaves out', () => {
    expect(formatStatus(view({ older: 7 }))).toContain(
      'and 7 older runs; to see an older run: npm run status -- --run N',
    )
    expect(formatStatus(view())).not.toContain('older')
  })

  test.each([
    ['what failed can be tried again', { failed: 1, unaffordable: 2 }, 'npm run retry -- --run 9'],
    [
      'a budget that was spent needs a greater one',
      { unaffordable: 2 },
      'the budget of run 9 or of the list list-9 is used up; see npm run budget, then run: npm run retry -- --run 9 --state unaffordable',
    ],
  ])('names the next step for the newest incomplete run: %s', (_, tasks, next) => {
    const runs = [run(9, tasks), run(3, { failed: 5 })]
    expect(formatStatus(view({ runs })).split('\n')).toContain(`next: ${next}`)
  })
})
