import { unhandled } from '../../../shared/errors.ts'
import { typed } from '../../../shared/terminal/wording.ts'
import { dayMs } from '../../../shared/time/duration.ts'
import { conditionOf } from '../../../store/analysis/condition.ts'
import type { AlertRule } from '../../../store/nights/alert-rules.ts'
import type { AskedQuery } from '../../../store/nights/sights.ts'
import type { Sight, Direction } from './change.ts'
import type { AlertSubject } from './subjects.ts'

/** Everything that an alert of a query says. */
export interface ToldChange {
  readonly rule: Pick<AlertRule, 'what' | 'threshold'>
  readonly query: Pick<AskedQuery, 'q' | 'variant' | 'target_page'>
  readonly subject: AlertSubject
  readonly way: Direction | null
  readonly base: Sight
  readonly now: Sight
  /** Who took the place, or whose it was. */
  readonly other: string | null
  /** Page of the domain in the newer answer. */
  readonly page: string | null
  readonly origin: string
  readonly baseDate: string
  readonly date: string
}

/** The line of an alert, with the days of both answers. */
export function alertSentence(told: ToldChange): string {
  const { origin, baseDate, date } = told
  return `${marked(origin)}${changeOf(told)}, on ${date} against ${baseDate}`
}

/** Nothing else than a live answer may pass for one. */
function marked(origin: string): string {
  return origin === 'live' ? '' : `(${origin}) `
}

function changeOf(told: ToldChange): string {
  const { rule, subject, way, base, now, other, page, query } = told
  const where = `for ${shownQuery(query)}`
  const { domain, rival, feature } = subject
  const [before, after] = [placeWords(base, now), placeWords(now, base)]
  switch (rule.what) {
    case 'entered':
      return `${domain} entered ${where} at ${after}${tookFrom(other)}`
    case 'left':
      return `${domain} left ${where}, where it stood at ${before}${tookIt(other)}`
    case 'moved':
      return `${domain} ${way === 'up' ? 'rose' : 'fell'} ${where} from ${before} to ${after}${tookBy(way, other)}`
    case 'crossed':
      return `${domain} ${way === 'up' ? 'came into' : 'fell out of'} the first ${rule.threshold} ${where}, from ${before} to ${after}${tookBy(way, other)}`
    case 'rival_passed':
      return `${rival} passed ${domain} ${where}: ${rivalWords(now)}, before that ${rivalWords(base)}`
    case 'new_feature':
      return `the answer ${where} shows ${feature}, which it did not before`
    case 'wrong_page':
      return `${domain} ranks ${where} at ${after} with ${page} instead of ${query.target_page}`
    case 'share_fell':
      throw new Error('expected an alert of a query, got one of a share')
    default:
      throw unhandled('kind of alert', rule.what)
  }
}

function shownQuery({ q, variant }: ToldChange['query']): string {
  return variant === '' ? JSON.stringify(q) : `${JSON.stringify(q)} (${variant})`
}

/** A domain that is not shown stands below the last place that the answer shows, or below where it was. */
function placeWords({ position, depth }: Sight, other: Sight): string {
  return position === null ? `below ${Math.max(depth, other.position ?? 0)}` : String(position)
}

function rivalWords({ rival, position, depth }: Sight): string {
  const shown = (place: number | null) => (place === null ? `below ${depth}` : String(place))
  return `${shown(rival)} against ${shown(position)}`
}

function tookBy(way: Direction | null, other: string | null): string {
  return way === 'up' ? tookFrom(other) : tookIt(other)
}

function tookIt(other: string | null): string {
  return other === null ? '' : ` (${other} has its place)`
}

function tookFrom(other: string | null): string {
  return other === null ? '' : ` (the place of ${other})`
}

/** The question of the library that shows both answers, as one would type it. */
export function alertQuestion({ rule, query, baseDate, date, origin }: ToldChange): string {
  if (rule.what === 'wrong_page') return questionLine(origin, ['wrong_pages', '--day', date])
  if (rule.what === 'new_feature') return questionLine(origin, ['answer_parts', '--q', query.q])
  const days = Math.round((Date.parse(date) - Date.parse(baseDate)) / dayMs)
  const between = ['--day', date, '--days', String(days)]
  return questionLine(origin, ['serp_changes', '--q', query.q, ...between])
}

/** What an alert of a share says. */
export interface ShareTold {
  readonly domain: string
  readonly tag: string
  readonly before: number
  readonly now: number
  readonly other: string | null
  readonly origin: string
  readonly baseDate: string
  readonly date: string
}

export function shareSentence(told: ShareTold): string {
  const { domain, tag, before, now, other, origin, baseDate, date } = told
  const of = tag === '*' ? 'over all queries' : `for ${tag}`
  const fall = Math.round((1 - now / before) * 100)
  const who = other === null ? '' : ` (${other} gained most)`
  return `${marked(origin)}the share of voice of ${domain} ${of} fell by ${fall} %, from ${percent(before)} to ${percent(now)}${who}, on ${date} against ${baseDate}`
}

export function shareQuestion({ domain, tag, origin }: ShareTold): string {
  const narrowed = tag === '*' ? [] : ['--tag', conditionOf(tag)]
  return questionLine(origin, ['share_of_voice_trend', '--domain', domain, ...narrowed])
}

function percent(share: number): string {
  return `${(share * 100).toFixed(2)} %`
}

function questionLine(origin: string, words: readonly string[]): string {
  const flags = origin === 'live' ? [] : ['--origins', origin]
  return ['npm run sql --', ...flags, ...words.map(typed)].join(' ')
}
