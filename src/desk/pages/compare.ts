// Compares two days, lists, devices or tags: us and up to five competitors side by side.

import { npmRun } from '../../base/cli/commands.ts'
import { siteName } from '../../base/address.ts'
import type { Database } from '../../base/database/database.ts'
import { dayMs, dayOf } from '../../base/time/zone.ts'
import { type HeldDay, readHeldDays } from '../../features/analysis/domains.ts'
import { type Note, readNotesBetween } from '../../features/analysis/notes.ts'
import { readSuspects, type SuspectRun } from '../../features/analysis/query-facts.ts'
import { BadAddress, daysBefore, type PageAddress } from '../address.ts'
import { change, type Html, html } from '../drawing/html.ts'
import {
  amount,
  type Column,
  nothing,
  percent,
  tableSection,
  to,
  unknown,
} from '../drawing/parts.ts'
import { definePage, type PagePlace } from '../page.ts'
import { chooser, dayField, selectField, textField } from './choose.ts'
import { drawShares } from './domain.ts'
import { chooseDays, readKeywordNames } from './keywords-read.ts'
import { readNamed } from './overview-read.ts'
import { toDomain } from './ways.ts'

const mostDomains = 6
const mostDays = 120
const devices = ['desktop', 'mobile', 'tablet']

/** One side of the comparison: the queries with a label on a day. */
interface Side {
  readonly label: string
  readonly day: string
}

interface CompareAsked {
  readonly sides: readonly { readonly label: string; readonly day: string | null }[]
  readonly domains: readonly string[]
}

function askCompare(address: PageAddress): CompareAsked {
  const side = (name: 'a' | 'b') => ({
    label: address.text(`label_${name}`) ?? '*',
    day: address.day(`day_${name}`),
  })
  const domains = address
    .texts('domain')
    .flatMap((typed) => typed.split(/[\s,]+/))
    .map(siteName)
    .filter((name) => name !== '')
  if (domains.length > mostDomains) {
    throw new BadAddress(`domain: expected ${mostDomains} at most, got ${domains.length}.`)
  }
  return { sides: [side('a'), side('b')], domains }
}

interface CompareFound {
  readonly sides: readonly (Side & { readonly held: readonly HeldDay[] })[]
  readonly domains: readonly string[]
  readonly names: Awaited<ReturnType<typeof readKeywordNames>>
  readonly notes: readonly Note[]
  readonly suspect: readonly SuspectRun[]
}

async function readCompare(
  db: Database,
  { sides, domains: asked }: CompareAsked,
): Promise<CompareFound | null> {
  const days = await chooseDays(db, { day: null, since: null })
  if (days === null) return null
  const newest = days.now.day
  const [first, second] = sides
  const same = first?.label === second?.label
  // Two dates are compared, unless the labels differ: then both sides have the same date.
  const chosen = [first?.day ?? (same ? daysBefore(newest, 7) : newest), second?.day ?? newest]
  const ours = await readNamed(db, 'own_domains', newest)
  const named = [...ours, ...(await readNamed(db, 'rival_domains', newest))]
  const domains = (asked.length > 0 ? asked : [...new Set(named)]).slice(0, mostDomains)
  const [since = newest, until = newest] = chosen.toSorted()
  const span = { since: spanSince(since, until), until, cut: false }
  const read = async ({ label }: { label: string }, index: number) => ({
    label,
    day: chosen[index] ?? newest,
    held: await readHeldDays(db, { domains, tag: label, ...span }),
  })
  return {
    sides: [await read(first ?? { label: '*' }, 0), await read(second ?? { label: '*' }, 1)],
    domains,
    names: await readKeywordNames(db),
    notes: await readNotesBetween(db, span),
    suspect: await readSuspects(db, span),
  }
}

/** At least a month before the later day, so that a trend is visible. */
function spanSince(since: string, until: string): string {
  const [month, most] = [daysBefore(until, 30), daysBefore(until, mostDays)]
  if (since < most)
    throw new BadAddress(
      `day_a: expected at most ${mostDays} days between, got ${(dayOf(until).getTime() - dayOf(since).getTime()) / dayMs}.`,
    )
  return since < month ? since : month
}

/** Compares any two dates, lists, devices or tags. */
export const comparePage = definePage({
  path: '/compare',
  nav: 'Compare',
  ask: askCompare,
  read: (reading, asked) => reading.answers((db) => readCompare(db, asked)),
  show: (found, place) => ({
    title: 'Compare',
    lead: 'Two dates, lists, devices or tags side by side: our domains and up to five competitors.',
    body:
      found === null || found.domains.length === 0
        ? nothing(
            'Two sides can be compared once there are answers and a domain is marked as yours.',
            `${npmRun('domains --')} set example.com`,
          )
        : html`${form(found, place)} ${drawSides(found, place)}`,
  }),
})

function form({ sides, domains, names }: CompareFound, place: PagePlace): Html {
  const labels = [
    ...names.lists.map((name) => [`list=${name}`, `list ${name}`] as const),
    ...devices.map((name) => [`device=${name}`, name] as const),
  ]
  const side = ({ label, day }: Side, name: 'a' | 'b') => {
    const known = labels.some(([value]) => value === label) || label === '*'
    const words = known ? labels : [[label, label] as const, ...labels]
    return [
      selectField({
        name: `label_${name}`,
        label: `${name.toUpperCase()}: keywords`,
        value: label,
        words,
      }),
      dayField({ name: `day_${name}`, label: 'on', value: day }),
    ]
  }
  const [a, b] = sides
  return chooser(
    { place, name: 'What to compare' },
    [
      ...(a === undefined ? [] : side(a, 'a')),
      ...(b === undefined ? [] : side(b, 'b')),
      textField({ name: 'domain', label: 'Domains', value: domains.join(' ') }),
    ],
    'Compare',
  )
}

const labelWords = ({ label }: Side) => (label === '*' ? 'all keywords' : label.replace('=', ' '))
const nameOf = (side: Side) => `${labelWords(side)}, ${side.day}`

function drawSides(found: CompareFound, place: PagePlace): Html {
  const { sides, domains, notes, suspect } = found
  const [a, b] = sides
  if (a === undefined || b === undefined) return html``
  const filters = { day: b.day, since: a.day, ...listOf(b.label), change: 'any', sort: 'change' }
  const about = html`A: ${nameOf(a)}. B: ${nameOf(b)}.
  ${a.day === b.day ? null : to(place.href('/keywords', filters), 'Keywords that changed between the days')}`
  return html`${tableSection(
    { id: 'sides', title: 'Side by side', about, empty: 'Each domain will be a line here.' },
    sideColumns(found, place),
    domains,
  )}
  ${(a.label === b.label ? [b] : [a, b]).map((side) => {
    const name = a.label === b.label ? 'A and B' : side === a ? 'A' : 'B'
    const inside = { ...place, id: (part: string) => `${part}-${name.replaceAll(' ', '-')}` }
    const whose = `${name}: ${labelWords(side)}.`
    const picture = `Share of voice of ${labelWords(side)}, day by day (${name})`
    return drawShares({ shares: side.held, notes, suspect }, { picture, about: whose }, inside)
  })}`
}

function sideColumns({ sides }: CompareFound, place: PagePlace): readonly Column<string>[] {
  const at = (side: number, domain: string) => {
    const { held = [], day = '' } = sides[side] ?? {}
    return held.findLast((one) => one.domain === domain && one.runDate <= day) ?? null
  }
  const pair = (
    head: string,
    value: (day: HeldDay) => number | null,
    draw: (value: number | null) => Html = amount,
  ): Column<string>[] =>
    ['A', 'B'].map((name, side) => ({
      head: `${head} ${name}`,
      number: true,
      cell: (domain) => {
        const day = at(side, domain)
        return draw(day === null ? null : value(day))
      },
    }))
  const difference = (domain: string) => {
    const [a, b] = [at(0, domain)?.share ?? null, at(1, domain)?.share ?? null]
    return a === null || b === null ? unknown : change(b - a)
  }
  return [
    { head: 'Domain', cell: (domain) => toDomain(place, domain) },
    ...pair('Share', ({ share }) => share, percent),
    { head: 'B − A', number: true, cell: difference },
    ...pair('Top 3', ({ top3 }) => top3),
    ...pair('Top 10', ({ top10 }) => top10),
    ...pair('Ranked', ({ ranked }) => ranked),
    ...pair('Keywords', ({ queries }) => queries),
  ]
}

function listOf(label: string): Readonly<Record<string, string>> {
  const [kind = '', ...name] = label.split('=')
  return kind === 'list' || kind === 'device'
    ? { [kind]: name.join('=') }
    : label === '*'
      ? {}
      : { tag: label }
}
