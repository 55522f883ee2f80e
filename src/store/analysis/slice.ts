import { sql } from '../kysely.ts'
import { Misuse } from '../../shared/errors.ts'
import { isDay } from '../../shared/time/zone.ts'
import type { Database } from '../database.ts'
import { readCondition, type Condition } from './condition.ts'

/** Which queries and days a question is about: settings of the views, so that every view knows them. */
export interface Slice {
  /** Conditions that must all hold; of the labels of each, with + or - in front, one must. */
  readonly conditions: readonly Condition[]
  /** Days as they were typed. */
  readonly since: string | undefined
  readonly until: string | undefined
  /** True: every day is read, so that all are looked up at once. */
  readonly everyDay?: boolean
}

/** Flags that choose queries. */
export const sliceFlags = ['list', 'tag', 'country', 'place', 'language', 'device'] as const
/** Flags that choose days. */
export const spanFlags = ['since', 'until', 'between'] as const

type Given = ReadonlyMap<string, readonly string[]>

/** Reads the flags, by name and with all values of each. Flags of other names are none of its business. */
export function readSlice(given: Given): Slice {
  const conditions: Condition[] = []
  for (const flag of sliceFlags) {
    const values = (given.get(flag) ?? []).filter((value) => value !== '')
    if (values.length === 0) continue
    if (flag === 'tag') conditions.push(...values.flatMap(readCondition))
    else conditions.push(values.flatMap((value) => split(flag, value)))
  }
  return { conditions, ...readSpan(given) }
}

/** Names of lists and places may have commas in them. */
function split(flag: string, value: string): Condition {
  const names = flag === 'list' || flag === 'place' ? [value] : value.split(',')
  return names.map((name) => `+${flag}=${name.trim()}`)
}

function readSpan(given: Given): Pick<Slice, 'since' | 'until'> {
  const between = given.get('between')?.at(-1)
  const since = given.get('since')?.at(-1)
  const until = given.get('until')?.at(-1)
  if (between === undefined) return inOrder(readDay('since', since), readDay('until', until))
  if (since !== undefined || until !== undefined) {
    throw new Misuse('expected --between or --since and --until, got both; leave one out')
  }
  const [first, last, ...more] = between.split(/\.\.|,/)
  if (first === undefined || last === undefined || more.length > 0) {
    throw new Misuse(
      `expected --between to name two days, as in 2026-11-01..2026-11-08, got ${JSON.stringify(between)}`,
    )
  }
  return inOrder(readDay('between', first), readDay('between', last))
}

function inOrder(since: string | undefined, until: string | undefined) {
  if (since !== undefined && until !== undefined && since > until) {
    throw new Misuse(`expected the earlier day first, got ${since} and ${until}; change them round`)
  }
  return { since, until }
}

function readDay(flag: string, typed: string | undefined): string | undefined {
  if (typed === undefined || typed === '') return undefined
  const day = typed.trim()
  if (isDay(day)) return day
  throw new Misuse(`expected --${flag} to be a day like 2026-11-01, got ${JSON.stringify(typed)}`)
}

/** The settings by which the views know the slice. */
export function sliceSettings({
  conditions,
  since,
  until,
  everyDay = false,
}: Slice): Readonly<Record<string, string>> {
  return {
    ...(everyDay ? { 'querymill.slice_at_once': 'on' } : {}),
    ...(conditions.length === 0 ? {} : { 'querymill.slice': JSON.stringify(conditions) }),
    ...(since === undefined ? {} : { 'querymill.since': since }),
    ...(until === undefined ? {} : { 'querymill.until': until }),
  }
}

/** The lists that the slice names; null where it names none. */
function chosenLists({ conditions }: Slice): readonly string[] | null {
  const lists = conditions
    .filter((condition) => condition.every((label) => label.startsWith('+list=')))
    .flat()
  return lists.length === 0 ? null : lists.map((label) => label.slice('+list='.length))
}

/** The one list that the slice names; null where it names none, or several. */
export function onlyList(slice: Slice): string | null {
  const lists = chosenLists(slice)
  return lists?.length === 1 ? (lists[0] ?? null) : null
}

/** Tells whether the slice may be about a list: it names it, or none. */
export function listFilter(slice: Slice): (list: string) => boolean {
  const chosen = chosenLists(slice)
  return (list) => chosen?.includes(list) ?? true
}

/** What the slice asks for, in words: each must hold. */
export function sliceWords({ conditions }: Slice): readonly string[] {
  return conditions.map((condition) => condition.map(labelWords).join(' or '))
}

function labelWords(label: string): string {
  const name = label.slice(1)
  const flag = sliceFlags.find((each) => each !== 'tag' && name.startsWith(`${each}=`))
  const words = flag === undefined ? `label ${name}` : `${flag} ${name.slice(flag.length + 1)}`
  return label.startsWith('-') ? `not ${words}` : words
}

/** A hint for the reader when no query ever had a label that the slice asks for; else null. */
export async function hintLabels(db: Database, slice: Slice): Promise<string | null> {
  const wanted = labelsOf(slice)
  if (wanted.length === 0) return null
  const { rows } = await sql<{ label: string }>`
    select wanted as label
    from unnest(${wanted}::text[]) with ordinality as named (wanted, ordinal)
    where not exists (
        select
        from analysis.query_labels
        where wanted = any (labels)
      )
      and not exists (select from list_query_history where wanted = any (tags))
      and not exists (select from lists where 'list=' || name = wanted)
    order by ordinal
  `.execute(db)
  if (rows.length === 0) return null
  const unknown = rows.map(({ label }) => JSON.stringify(label)).join(', ')
  return `no query has the label ${unknown}; select distinct unnest(labels) from analysis.query_labels lists those there are`
}

/** Labels that the slice wants queries to have, if only beside others. */
export function wantedLabels({ conditions }: Slice): readonly string[] {
  const wanted = conditions.flat().filter((label) => label.startsWith('+'))
  return [...new Set(wanted.map((label) => label.slice(1)))]
}

/** Labels that the slice speaks of. */
function labelsOf({ conditions }: Slice): readonly string[] {
  return [...new Set(conditions.flat().map((label) => label.slice(1)))]
}
