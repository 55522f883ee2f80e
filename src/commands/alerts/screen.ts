import { formatTable } from '../../shared/terminal/table.ts'
import type { AlertRule } from '../../store/nights/alert-rules.ts'
import type { AlertRow } from '../../store/operator/alerts.ts'

/** Alerts for people, the newest first. */
export function formatAlerts(alerts: readonly AlertRow[]): string {
  if (alerts.length === 0)
    return 'No alert so far; npm run alerts -- rules shows what is looked for.'
  const rows = alerts.map(({ id, run_date: night, state, alert, text }) => [
    ...[id, night, state, alert, text],
  ])
  const table = formatTable(['id', 'night', 'state', 'alert', 'text'], rows, {
    right: ['id'],
    widest: 160,
  })
  return `${table}\nnpm run alerts -- show ID has the evidence`
}

/** One alert with all of its evidence. */
export function formatAlert(alert: AlertRow): string {
  const rows = [
    ['alert', `${alert.alert} (${alert.what})`],
    ['state', stateOf(alert)],
    ['text', alert.text],
    ['answers', answersOf(alert)],
    ['question', alert.question],
  ]
  const table = formatTable(['', ''], rows, { widest: null })
  return table
    .split('\n')
    .filter((line) => line.trim() !== '')
    .join('\n')
}

function stateOf(alert: AlertRow): string {
  const { state, recovered_run_date: date, recovered_search_id: search } = alert
  if (state === 'withdrawn') return `withdrawn, ${alert.withdrawn_because}`
  if (state === 'standing') return state
  return `recovered on ${date}${search === null ? '' : ` with answer ${search}`}`
}

function answersOf(alert: AlertRow): string {
  const { base_search_id: base, search_id: search, base_run_date: before, run_date: date } = alert
  if (base === null) return `none of its own: the shares of ${before} and ${date}`
  return `${base} of ${before}, ${search} of ${date}`
}

/** The rules in force, for people. */
export function formatRules(rules: readonly AlertRule[]): string {
  if (rules.length === 0)
    return 'No rule is in force; npm run alerts -- load reads inputs/config/alerts.csv.'
  const rows = rules.map((rule) => [
    ...[rule.name, rule.what, rule.threshold, rule.direction ?? '', rule.list ?? ''],
    ...[rule.tag ?? '', rule.domain ?? '', rule.rival ?? '', rule.feature ?? '', rule.confirm],
  ])
  return formatTable(
    [
      ...['alert', 'what', 'threshold', 'direction', 'list'],
      ...['tag', 'domain', 'rival', 'feature', 'confirm'],
    ],
    rows,
    { right: ['threshold', 'confirm'] },
  )
}
