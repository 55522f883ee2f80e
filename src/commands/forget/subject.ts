import { domainToUnicode } from 'node:url'
import { Misuse } from '../../shared/errors.ts'
import { isDomain, siteName } from '../../shared/hostname.ts'
import { canonicalText, devices, type Query } from '../../shared/query.ts'
import { wholeFlag, wordFlag } from '../../shared/terminal/flags.ts'
import type { Database } from '../../store/database.ts'
import type { Forgettable } from '../../store/forgetting/forget.ts'
import { findLivingList } from '../../store/forgetting/list.ts'
import { findHeldQueries, type HeldQuery } from '../../store/forgetting/standing.ts'
import { expectList } from '../../store/operator/known.ts'

/** What is typed to say what is meant. */
export interface TypedSubject {
  readonly list?: string
  readonly query?: string
  readonly domain?: string
  readonly place?: string
  readonly language?: string
  readonly country?: string
  readonly num?: string
  readonly device?: string
}

/** What is to be forgotten, in words, and the queries that it is. */
export interface FoundSubject {
  readonly subject: Forgettable
  readonly said: string
  readonly queries: readonly HeldQuery[]
}

const narrowing = ['place', 'language', 'country', 'num', 'device'] as const
const mostNum = 100

/** Refuses what does not say one thing. */
export function checkFlags(flags: TypedSubject): void {
  const kinds = [flags.list, flags.query, flags.domain].filter((flag) => flag !== undefined)
  if (kinds.length !== 1) {
    throw new Misuse(
      `expected one of --list NAME, --query "text" and --domain example.org, got ${kinds.length === 0 ? 'none' : 'several'}`,
    )
  }
  const narrow = narrowing.filter((name) => flags[name] !== undefined)
  if (flags.query === undefined && narrow.length > 0) {
    throw new Misuse(`expected --${narrow[0]} beside --query, got no query`)
  }
}

/** Looks up what the flags name: null when there is no such list, query or host. */
export async function findSubject(db: Database, flags: TypedSubject): Promise<FoundSubject | null> {
  checkFlags(flags)
  if (flags.list !== undefined) return findList(db, flags.list)
  if (flags.query !== undefined) return findQuery(db, flags.query, flags)
  return readDomain(flags.domain ?? '')
}

async function findList(db: Database, name: string): Promise<FoundSubject | null> {
  const list = await findLivingList(db, name)
  if (list === null) return null
  return { subject: { kind: 'list', list }, said: `list ${name}`, queries: [] }
}

async function findQuery(
  db: Database,
  text: string,
  flags: TypedSubject,
): Promise<FoundSubject | null> {
  const q = canonicalText(text)
  const all = await findHeldQueries(db, q, {})
  const queries = await findHeldQueries(db, q, narrowOf(flags))
  if (queries.length === 0) return null
  const ids = queries.map(({ id }) => id)
  const subject = { kind: 'query', q, ids, all: ids.length === all.length } as const
  return { subject, said: `query ${JSON.stringify(q)}`, queries }
}

function narrowOf(flags: TypedSubject): Partial<Omit<Query, 'q'>> {
  const num = wholeFlag('num', flags.num, mostNum)
  return {
    ...(flags.place === undefined ? {} : { location: canonicalText(flags.place) }),
    ...(flags.language === undefined ? {} : { hl: flags.language.toLowerCase() }),
    ...(flags.country === undefined ? {} : { gl: flags.country.toLowerCase() }),
    ...(num === undefined ? {} : { num }),
    ...(flags.device === undefined ? {} : { device: wordFlag('device', flags.device, devices) }),
  }
}

function readDomain(typed: string): FoundSubject {
  const name = siteName(typed)
  if (!isDomain(name)) {
    throw new Misuse(
      `expected --domain to be a host like example.org, got ${JSON.stringify(typed)}; what stands below it goes as well`,
    )
  }
  const spellings = [...new Set([name, domainToUnicode(name)])].filter((one) => one !== '')
  return {
    subject: { kind: 'domain', name: { spellings } },
    said: `domain ${name}`,
    queries: [],
  }
}

/** Says that nothing of that name is there. */
export async function refuseUnknown(db: Database, flags: TypedSubject): Promise<never> {
  if (flags.list !== undefined) {
    await expectList(db, flags.list)
    throw new Misuse(
      `expected --list to be a list, got ${flags.list}, what is left of one that was forgotten`,
    )
  }
  throw new Misuse(
    `expected --query to be a query of a list, spelled as it is there, got ${JSON.stringify(flags.query)}; npm run sql -- find --word "…" looks for one`,
  )
}
