import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { root } from '../../../src/base/root.ts'
import { openMetrics } from '../../../src/features/notifications/metrics.ts'
import { freshDatabase } from '../../support/database.ts'
import { has } from '../../support/parts.ts'
import { start } from '../../support/run.ts'
import { openScene, queries } from '../../support/scene.ts'
import { promtool, startPrometheus } from './prometheus.ts'

const rulesFile = join(root, 'docs', 'deploy', 'prometheus-rules.yml')
const rulesText = readFileSync(rulesFile, 'utf8')
const rule = z.looseObject({ alert: z.string(), expr: z.string() })
const { groups } = z
  .object({ groups: z.array(z.looseObject({ rules: z.array(rule) })) })
  .parse(parse(rulesText))
const rules = groups.flatMap((group) => group.rules)
const target = z.looseObject({ expr: z.string() })
const dashboard = z
  .looseObject({
    panels: z.array(z.looseObject({ id: z.number(), title: z.string(), targets: z.array(target) })),
  })
  .parse(JSON.parse(readFileSync(join(root, 'docs', 'deploy', 'grafana.json'), 'utf8')))
const drawn = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))
const expressions = [...rules.map(({ expr }) => expr), ...drawn]

/** Names of metrics in an expression; for a histogram, without the suffix. */
function metricsOf(expression: string): string[] {
  const names = expression.match(/\b(?:querymill|process|nodejs)_\w+/g) ?? []
  return names.map((name) => name.replace(/_(?:bucket|sum|count)$/, ''))
}

test('every metric of the alerts and the dashboard is served by a worker', async () => {
  const database = await freshDatabase()
  const text = await openMetrics({
    db: database.db,
    supplier: { origin: 'live', api: 'a', account: 'a' },
    floor: 100,
    counted: () => ({ answered: 0, reused: 0, failed: 0, unknown: 0 }),
  }).text()
  await database.close()
  const served = new Set(Array.from(text.matchAll(/^# TYPE (\w+) /gm), ([, name]) => name))
  const named = new Set(expressions.flatMap(metricsOf))
  expect(named.size).toBeGreaterThan(10)
  expect([...named].filter((name) => !served.has(name))).toEqual([])
  const ours = [...served].filter((name) => name?.startsWith('querymill_'))
  const page = readFileSync(join(root, 'docs', 'operations.md'), 'utf8')
  expect(ours.filter((name) => !page.includes(`\`${name}`))).toEqual([])
})

test('every panel of the dashboard has a unique number and title, and a query', () => {
  const { panels } = dashboard
  expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length)
  expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length)
  expect(panels.filter(({ targets }) => targets.length === 0)).toEqual([])
})

/** Expected state of each alert for a series of values, minute by minute: silent at one time, firing at another. */
const courses: readonly {
  readonly alert: string
  readonly series: Readonly<Record<string, string>>
  readonly silent: string
  readonly fires: string
  readonly labels?: Readonly<Record<string, string>>
}[] = [
  {
    alert: 'QuerymillDown',
    series: { 'up{job="querymill-work"}': '1x10 0x20' },
    silent: '14m',
    fires: '17m',
    labels: { job: 'querymill-work' },
  },
  {
    alert: 'QuerymillNightOverdue',
    series: { querymill_nights_overdue: '0x5 1x20' },
    silent: '10m',
    fires: '13m',
  },
  {
    alert: 'QuerymillNoGoodNight',
    series: { 'querymill_nights_since_good{schedule="keywords"}': '1x60 2x120' },
    silent: '110m',
    fires: '125m',
    labels: { schedule: 'keywords' },
  },
  {
    alert: 'QuerymillNightSuspect',
    series: {
      'querymill_last_night_suspect{list="keywords"}': '0x10 1x20',
      'querymill_last_night_suspect{list="words"}': '0x30',
    },
    silent: '14m',
    fires: '17m',
    labels: { list: 'keywords' },
  },
  {
    alert: 'QuerymillListStopped',
    series: { 'querymill_last_success_timestamp_seconds{list="words"}': '0x30000' },
    silent: '14d',
    fires: '14d1m',
    labels: { list: 'words' },
  },
  {
    alert: 'QuerymillWorkUnattended',
    series: {
      'querymill_tasks_unattended{instance="a"}': '0x5 600x60',
      'querymill_tasks_unattended{instance="b"}': '0x65',
    },
    silent: '15m',
    fires: '25m',
  },
  {
    alert: 'QuerymillWorkStuck',
    series: {
      querymill_tasks_open: '9x120',
      querymill_workers: '2x120',
      querymill_credits_used_total: '0+10x10 100x110',
    },
    silent: '60m',
    fires: '80m',
  },
  {
    alert: 'QuerymillAccountStopped',
    series: {
      'querymill_account_stopped{reason="credit_floor"}': '1x20',
      'querymill_account_stopped{reason="rate"}': '1x20',
    },
    silent: '4m',
    fires: '6m',
    labels: { reason: 'credit_floor' },
  },
  {
    alert: 'QuerymillSlowedDown',
    series: { 'querymill_account_stopped{reason="rate"}': '1x60' },
    silent: '29m',
    fires: '31m',
  },
  {
    alert: 'QuerymillCreditsLow',
    series: {
      querymill_credits_above_floor: '1000-1x600',
      querymill_credits_used_total: '0+1x600',
    },
    silent: '480m',
    fires: '540m',
  },
  {
    alert: 'QuerymillFloorNear',
    series: { querymill_forecast_days_to_floor: '4x30 2.5x30' },
    silent: '44m',
    fires: '47m',
  },
  {
    alert: 'QuerymillTasksFail',
    series: {
      'querymill_tasks_total{state="answered"}': '0+10x120',
      'querymill_tasks_total{state="failed"}': '0x40 0+10x80',
    },
    silent: '45m',
    fires: '80m',
  },
  {
    alert: 'QuerymillSlowAnswers',
    series: {
      'querymill_api_request_duration_seconds_bucket{le="20"}': '0+10x30 300x60',
      'querymill_api_request_duration_seconds_bucket{le="30"}': '0+10x90',
      'querymill_api_request_duration_seconds_bucket{le="+Inf"}': '0+10x90',
    },
    silent: '30m',
    fires: '75m',
  },
  {
    alert: 'QuerymillNoticesLost',
    series: { querymill_notices_given_up: '0x5 1x5' },
    silent: '4m',
    fires: '7m',
  },
]

test('every alert has a series of values that it is tested with', () => {
  expect(courses.map(({ alert }) => alert)).toEqual(rules.map(({ alert }) => alert))
})

describe.skipIf(!has('prometheus'))("Debian's promtool", { tags: ['slow'] }, () => {
  test('finds no problem with the alerts, nor with the queries of the dashboard', () => {
    const asked = drawn.map((expr, index) => ({ record: `panel_${index}`, expr }))
    const { status, said } = promtool(['check', 'rules', 'rules.yml', 'dashboard.yml'], {
      'rules.yml': rulesText,
      'dashboard.yml': { groups: [{ name: 'dashboard', rules: asked }] },
    })
    expect({ status, said }).toEqual({
      status: 0,
      said: expect.stringContaining(`${rules.length} rules`),
    })
  })

  test.each(courses)(
    'fires $alert when it is time, and not before',
    ({ alert, series, silent, fires, labels = {} }) => {
      const found = rules.find((one) => one.alert === alert)
      const severity = z.object({ severity: z.string() }).parse(found?.['labels'])
      const input = Object.entries(series).map(([name, values]) => ({ series: name, values }))
      const bare = rulesText.replaceAll(/^ +annotations:\n(?: +(?:summary|action): .*\n)+/gm, '')
      const expected = [{ exp_labels: { ...severity, ...labels } }]
      const { status, said } = promtool(['test', 'rules', 'test.yml'], {
        'rules.yml': bare,
        'test.yml': {
          rule_files: ['rules.yml'],
          evaluation_interval: '1m',
          tests: [
            {
              interval: '1m',
              input_series: input,
              alert_rule_test: [
                { eval_time: silent, alertname: alert },
                { eval_time: fires, alertname: alert, exp_alerts: expected },
              ],
            },
          ],
        },
      })
      expect({ status, said }).toMatchObject({ status: 0 })
    },
  )
})

describe.skipIf(!has('prometheus'))('a real Prometheus', { tags: ['slow'] }, () => {
  const open: { close: () => Promise<unknown> }[] = []

  afterEach(async () => {
    for (const one of open.splice(0).toReversed()) await one.close()
  })

  test('scrapes a running worker, and evaluates every alert without an error', async () => {
    const { mill } = await openScene()
    await mill.plan(queries(5))
    const worker = start('work', [], { ...mill.env, MILL_METRICS_PORT: '0' })
    open.push({
      close: () => {
        worker.kill('SIGTERM')
        return worker.ended
      },
    })
    const { msg } = JSON.parse(await worker.line('health and metrics on'))
    const [, address = ''] = /http:\/\/(\S+)/.exec(msg) ?? []
    const prometheus = await startPrometheus(address, rulesFile)
    open.push(prometheus)
    const value = async (query: string) => {
      try {
        return await prometheus.ask(query)
      } catch {
        return 'not yet'
      }
    }
    const soon = { interval: 250 }
    await expect.poll(() => value('up{job="querymill"}'), soon).toEqual([1])
    await expect.poll(() => value('querymill_tasks_total{state="answered"}'), soon).toEqual([5])
    await expect.poll(() => value('querymill_workers'), soon).toEqual([1])
    await expect.poll(() => value('querymill_credits_above_floor'), soon).toEqual([9895])
    const health = async () => {
      const { data } = (await prometheus.get('/api/v1/rules')) as {
        data: { groups: { rules: { health: string; lastError?: string }[] }[] }
      }
      return data.groups.flatMap((group) => group.rules.map((one) => one.lastError ?? one.health))
    }
    await expect.poll(health, soon).toEqual(rules.map(() => 'ok'))
  })
})
