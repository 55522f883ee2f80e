// The Compare page: our own domains and competitors on two days, or for two lists, devices or tags.

import { npmRun } from '../../base/cli/commands.ts'
import type { Database } from '../../base/database/database.ts'
import { dayMs, dayOf } from '../../base/time/zone.ts'
import { devices } from '../../base/query.ts'
import { readHeldDays } from '../../features/analysis/domains.ts'
import { BadAddress, daysBefore, type PageAddress } from '../address.ts'
import { change, type Html, html } from '../drawing/html.ts'
import { nothing, to, unknown } from '../drawing/parts.ts'
import { type Column, column, tableSection } from '../drawing/tables.ts'
import { definePage, type PagePlace } from '../page.ts'
import { askedDomains, chooser, dayField, selectField, textField } from './choose.ts'
import { drawShares, readMarks } from './domain.ts'
import { chooseDays, readKeywordNames } from './keywords-read.ts'
import { readNamed } from './overview.ts'
import { toDomain } from './ways.ts'

const mostDomains = 6
const mostDays = 120

interface Side {
  readonly label: string
  readonly day: string
}

function askCompare(address: PageAddress) {
  const side = (name: 'a' | 'b') => ({
    label: address.text(`label_${name}`) ?? '*',
    day: address.day(`day_${name}`),
  })
  const domains = askedDomains(address)
  if (domains.length > mostDomains) {
    throw new BadAddress(`domain: expected at most ${mostDomains} domains, got ${domains.length}.`)
  }
  return { sides: [side('a'), side('b')] as const, domains }
}

type CompareFound = NonNullable<Awaited<ReturnType<typeof readCompare>>>
type CompareAsked = ReturnType<typeof askCompare>

async function readCompare(db: Database, { sides: [first, second], domains: asked }: CompareAsked) {
  const days = await chooseDays(db, { day: null, since: null })
  if (days === null) return null
  const newest = days.now.day
  // If the tags differ, both sides have the same date by default. Otherwise, the default dates are a week apart.
  const usual = first.label === second.label ? daysBefore(newest, 7) : newest
  const a = { ...first, day: first.day ?? usual }
  const b = { ...second, day: second.day ?? newest }
  const { named } = await readNamed(db, newest)
  const domains = (asked.length > 0 ? asked : named).slice(0, mostDomains)
  const [since = newest, until = newest] = [a.day, b.day].toSorted()
  const span = { since: spanSince(since, until), until, cut: false }
  const held = (side: Side) => readHeldDays(db, { domains, tag: side.label, ...span })
  return {
    a: { ...a, held: await held(a) },
    b: { ...b, held: await held(b) },
    domains,
    names: await readKeywordNames(db),
    ...(await readMarks(db, span)),
  }
}

/** Start of the period: the earlier day, but at least a month before the later day, so that a trend is visible. */
function spanSince(since: string, until: string): string {
  const [month, most] = [daysBefore(until, 30), daysBefore(until, mostDays)]
  if (since < most) {
    const days = (dayOf(until).getTime() - dayOf(since).getTime()) / dayMs
    throw new BadAddress(
      `day_a: expected at most ${mostDays} days between day_a and day_b, got ${days} days.`,
    )
  }
  return since < month ? since : month
}

export const comparePage = definePage({
  path: '/compare',
  nav: 'Compare',
  ask: askCompare,
  read: (reading, asked) => reading.answers((db) => readCompare(db, asked)),
  show: (found, place) => ({
    title: 'Compare',
    lead: 'Compare two dates, lists, devices or tags for our domains and up to five competitors.',
    body:
      found === null || found.domains.length === 0
        ? nothing(
            'A comparison requires answers and a domain that is marked as yours.',
            `${npmRun('domains --')} set example.com`,
          )
        : html`${form(found, place)} ${drawSides(found, place)}`,
  }),
})

function form({ a, b, domains, names }: CompareFound, place: PagePlace): Html {
  const labels = [
    ...names.lists.map((name) => [`list=${name}`, `list ${name}`] as const),
    ...devices.map((name) => [`device=${name}`, name] as const),
  ]
  const fields = ({ label, day }: Side, name: 'a' | 'b') => {
    const known = labels.some(([value]) => value === label) || label === '*'
    const words = known ? labels : [[label, label] as const, ...labels]
    return [
      selectField(`label_${name}`, `${name.toUpperCase()}: keywords`, { words, value: label }),
      dayField(`day_${name}`, 'on', day),
    ]
  }
  const typed = textField('domain', 'Domains', { value: domains.join(' ') })
  const all = [...fields(a, 'a'), ...fields(b, 'b'), typed]
  return chooser({ place, name: 'What to compare' }, all, 'Compare')
}

const labelWords = ({ label }: Side) => (label === '*' ? 'all keywords' : label.replace('=', ' '))
const nameOf = (side: Side) => `${labelWords(side)}, ${side.day}`

function drawSides(found: CompareFound, place: PagePlace): Html {
  const { a, b, domains } = found
  const filters = { day: b.day, since: a.day, ...listOf(b.label), change: 'any', sort: 'change' }
  const about = html`A: ${nameOf(a)}. B: ${nameOf(b)}.
  ${a.day === b.day ? null : to(place.href('/keywords', filters), 'Keywords that changed between these days')}`
  return html`${tableSection(
    { id: 'sides', title: 'Side by side', about },
    domains,
    sideColumns(found, place),
  )}
  ${(a.label === b.label ? [b] : [a, b]).map((side) => {
    const name = a.label === b.label ? 'A and B' : side === a ? 'A' : 'B'
    const inside = { ...place, id: (part: string) => `${part}-${name.replaceAll(' ', '-')}` }
    const whose = `${name}: ${labelWords(side)}.`
    const picture = `Share of voice for ${labelWords(side)}, day by day (${name})`
    return drawShares({ ...found, shares: side.held }, { picture, about: whose }, inside)
  })}`
}

function sideColumns({ a, b }: CompareFound, place: PagePlace): readonly Column<string>[] {
  const at = ({ held, day }: CompareFound['a'], domain: string) =>
    held.findLast((one) => one.domain === domain && one.runDate <= day)
  const pair = (
    head: string,
    name: 'share' | 'top3' | 'top10' | 'ranked' | 'queries',
    kind: 'number' | 'share' = 'number',
  ) => [
    column[kind](`${head} A`, (domain: string) => at(a, domain)?.[name] ?? null),
    column[kind](`${head} B`, (domain: string) => at(b, domain)?.[name] ?? null),
  ]
  const difference = (domain: string) => {
    const [first, second] = [at(a, domain)?.share ?? null, at(b, domain)?.share ?? null]
    return first === null || second === null ? unknown : change(second - first)
  }
  return [
    column.plain('Domain', (domain) => toDomain(place, domain)),
    ...pair('Share', 'share', 'share'),
    column.right('B − A', difference),
    ...pair('Top 3', 'top3'),
    ...pair('Top 10', 'top10'),
    ...pair('Ranked', 'ranked'),
    ...pair('Keywords', 'queries'),
  ]
}

function listOf(label: string): Readonly<Record<string, string>> {
  if (label === '*') return {}
  const [kind = '', ...name] = label.split('=')
  return kind === 'list' || kind === 'device' ? { [kind]: name.join('=') } : { tag: label }
}
