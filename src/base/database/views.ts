// Settings for reading the views: origins, and the queries and days to include.

import { Misuse } from '../errors.ts'
import { isDay } from '../time/zone.ts'
import type { Database } from './database.ts'
import { CompiledQuery, sql } from './kysely.ts'

/** Settings for reading the views. Undefined settings keep the database's defaults. */
export interface ViewReading {
  readonly timeoutMs?: number | undefined
  readonly origins?: string | undefined
  readonly suspects?: boolean | undefined
  readonly slice?: Slice | undefined
}

export function readingSettings({ timeoutMs, origins, suspects, slice }: ViewReading) {
  const conditions = slice?.conditions ?? []
  return {
    // On a few million rows, JIT compilation costs more than it saves.
    jit: 'off',
    work_mem: '64MB',
    statement_timeout: timeoutMs?.toString(),
    'querymill.origins': origins,
    'querymill.suspects': suspects === undefined ? undefined : suspects ? 'show' : '',
    'querymill.slice': conditions.length === 0 ? undefined : JSON.stringify(conditions),
    'querymill.since': slice?.since,
    'querymill.until': slice?.until,
  }
}

/** Statement that applies settings to the transaction. $1 holds the names and $2 the values. */
export const setSettings = `select set_config(name, value, true)
  from unnest($1::text[], $2::text[]) as given (name, value)
  where value is not null`

export async function prepareReading(trx: Database, reading: ViewReading): Promise<void> {
  const settings = readingSettings(reading)
  const values = [Object.keys(settings), Object.values(settings)]
  await trx.executeQuery(CompiledQuery.raw(setSettings, values))
}

/** Queries and days to include, passed as settings so that every view can use them. */
export interface Slice {
  /** Conditions that must all be met. Each condition lists tags prefixed with + or -; at least one tag must match. */
  readonly conditions: readonly Condition[]
  readonly since: string | undefined
  readonly until: string | undefined
}

export const sliceFlags = ['list', 'tag', 'country', 'place', 'language', 'device'] as const
export const spanFlags = ['since', 'until', 'between'] as const

type GivenFlags = ReadonlyMap<string, readonly string[]>

/** Reads a slice from the slice flags. Ignores all other flags. */
export function readSlice(given: GivenFlags): Slice {
  const conditions: Condition[] = []
  for (const flag of sliceFlags) {
    const values = (given.get(flag) ?? []).filter((value) => value !== '')
    if (values.length === 0) continue
    if (flag === 'tag') conditions.push(...values.flatMap(readCondition))
    else conditions.push(values.flatMap((value) => split(flag, value)))
  }
  return { conditions, ...readSpan(given) }
}

/** Splits a value at commas, except for lists and places, because their names may contain commas. */
function split(flag: string, value: string): Condition {
  const names = flag === 'list' || flag === 'place' ? [value] : value.split(',')
  return names.map((name) => `+${flag}=${name.trim()}`)
}

function readSpan(given: GivenFlags): Pick<Slice, 'since' | 'until'> {
  const [from, to, between] = spanFlags.map((flag) => given.get(flag)?.at(-1))
  const days = between?.split(/\.\.|,/)
  if (days !== undefined && (from !== undefined || to !== undefined)) {
    throw new Misuse(
      'expected either --between or --since and --until, got both; omit --between or the other flags',
    )
  }
  if (days !== undefined && days.length !== 2) {
    throw new Misuse(
      `expected --between to name two dates, as in 2026-11-01..2026-11-08, got ${JSON.stringify(between)}`,
    )
  }
  const since = days === undefined ? readDay('since', from) : readDay('between', days[0])
  const until = days === undefined ? readDay('until', to) : readDay('between', days[1])
  if (since !== undefined && until !== undefined && since > until) {
    throw new Misuse(`expected the earlier date first, got ${since} and ${until}; swap them`)
  }
  return { since, until }
}

function readDay(flag: string, typed: string | undefined): string | undefined {
  if (typed === undefined || typed === '') return undefined
  const day = typed.trim()
  if (isDay(day)) return day
  throw new Misuse(`expected --${flag} to be a date like 2026-11-01, got ${JSON.stringify(typed)}`)
}

function chosenLists({ conditions }: Slice): readonly string[] {
  return conditions
    .filter((condition) => condition.every((label) => label.startsWith('+list=')))
    .flatMap((condition) => condition.map((label) => label.slice('+list='.length)))
}

/** Returns the list that the slice names, or null if the slice names no list or several lists. */
export function onlyList(slice: Slice): string | null {
  const [list, ...more] = chosenLists(slice)
  return list === undefined || more.length > 0 ? null : list
}

/** Returns a filter for list names. Without `--list`, the filter accepts all lists. */
export function listFilter(slice: Slice): (list: string) => boolean {
  const chosen = chosenLists(slice)
  return (list) => chosen.length === 0 || chosen.includes(list)
}

export function sliceWords({ conditions }: Slice): readonly string[] {
  return conditions.map((condition) => condition.map(labelWords).join(' or '))
}

function labelWords(label: string): string {
  const name = label.slice(1)
  const flag = sliceFlags.find((each) => each !== 'tag' && name.startsWith(`${each}=`))
  const words = flag === undefined ? `label ${name}` : `${flag} ${name.slice(flag.length + 1)}`
  return label.startsWith('-') ? `not ${words}` : words
}

/** Returns a hint if the slice uses a tag that no query has ever had, or null otherwise. */
export async function hintLabels(db: Database, slice: Slice): Promise<string | null> {
  const wanted = [...new Set(slice.conditions.flat().map((label) => label.slice(1)))]
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
  return `no query has the tag ${unknown}; select distinct unnest(labels) from analysis.query_labels lists the existing ones`
}

/** Tags that the slice requires, alone or as alternatives. */
export function wantedLabels({ conditions }: Slice): readonly string[] {
  const wanted = conditions.flat().filter((label) => label.startsWith('+'))
  return [...new Set(wanted.map((label) => label.slice(1)))]
}

/** At least one of these tags must be present (prefix +) or absent (prefix -). */
type Condition = readonly string[]

type Token = { readonly kind: 'and' | 'or' | 'not' | '(' | ')' } | { kind: 'label'; text: string }

// Maximum number of conditions. Nested "and" and "or" multiply the number of conditions when expanded.
const mostConditions = 200

/** Parses tags joined by "and", "or", "not" and parentheses into conditions that must all hold. */
function readCondition(typed: string): readonly Condition[] {
  const tokens = cut(typed)
  const unclear = () =>
    new Misuse(
      `expected --tag to be tags joined by and, or, not and parentheses, as in "brand and not (sale or old)", got ${JSON.stringify(typed)}`,
    )
  /** Parses tags joined by "or", which has the lowest precedence, or by "and". */
  const joined = (word: 'and' | 'or', wanted: boolean): readonly Condition[] => {
    const next = () => (word === 'or' ? joined('and', wanted) : single(wanted))
    // De Morgan's laws: "not" swaps "and" and "or".
    const all = wanted === (word === 'and')
    let found = next()
    while (tokens[0]?.kind === word) {
      tokens.shift()
      const more = next()
      found = all
        ? [...found, ...more]
        : found.flatMap((first) => more.map((second) => [...new Set([...first, ...second])]))
      if (found.length > mostConditions) {
        throw new Misuse(
          `expected --tag to expand to at most ${mostConditions} conditions, got more from ${JSON.stringify(typed)}; split it into two queries`,
        )
      }
    }
    return found
  }
  const single = (wanted: boolean): readonly Condition[] => {
    const token = tokens.shift()
    if (token?.kind === 'not') return single(!wanted)
    if (token?.kind === 'label') return [[`${wanted ? '+' : '-'}${token.text}`]]
    if (token?.kind !== '(') throw unclear()
    const found = joined('or', wanted)
    if (tokens.shift()?.kind !== ')') throw unclear()
    return found
  }
  const conditions = joined('or', true)
  if (tokens.length > 0) throw unclear()
  return conditions
}

/** Formats a tag as a condition, with quotes if necessary. */
export function conditionOf(label: string): string {
  const [token, ...more] = cut(label)
  const plain = token?.kind === 'label' && token.text === label && more.length === 0
  return plain ? label : `"${label.replaceAll('"', '""')}"`
}

/** Splits a tag expression into tokens. Adjacent words form one tag, so "red shoes" needs no quotes. */
function cut(typed: string): Token[] {
  const tokens: Token[] = []
  for (const [piece, quoted] of typed.matchAll(/"((?:[^"]|"")*)"|[()]|[^\s()"]+/g)) {
    const word = piece.toLowerCase()
    const last = tokens.at(-1)
    if (quoted !== undefined) tokens.push({ kind: 'label', text: quoted.replaceAll('""', '"') })
    else if (word === '(' || word === ')') tokens.push({ kind: word })
    else if (word === 'and' || word === 'or' || word === 'not') tokens.push({ kind: word })
    else if (last?.kind === 'label') last.text += ` ${piece}`
    else tokens.push({ kind: 'label', text: piece })
  }
  return tokens
}
