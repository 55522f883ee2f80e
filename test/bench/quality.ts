import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { root } from '../../src/base/root.ts'
import { say } from '../../src/base/cli/command.ts'
import type { FoundAnswer } from '../../src/service/sell.ts'
import { openTables } from '../../src/service/database.ts'
import { labelIntent } from '../../src/service/enrich/labels.ts'
import { Keys } from '../../src/service/keys.ts'
import { readSearch } from '../../src/service/schemas.ts'
import { noDrift } from '../../src/service/upstream/mock.ts'
import { openLocal } from '../../src/service/upstream/local.ts'
import { folderOf } from '../../src/service/upstream/find.ts'
import { type FindUrls, openBaselines } from './baselines.ts'
import { drawCases, type DrawnCase, type Half } from './drawn.ts'
import { isRightEntity, isUsableLabel, isUsableSearch, type Topic } from './usable.ts'

const pairs = z.array(z.tuple([z.string(), z.string()]))
const shape = z.object({
  known: pairs,
  typos: pairs,
  unknown: pairs,
  nothing: z.array(z.string()),
  organisations: z.string(),
  topics: z.array(
    z.object({
      q: z.string(),
      about: z.string(),
      fits: z.string(),
      expected: z.string().optional(),
    }),
  ),
  intent: z.array(z.object({ label: z.string(), text: z.string(), host: z.string().optional() })),
})
type JudgedSet = z.output<typeof shape>

const judgedItems = z.object({ right: z.array(z.string()), wrong: z.array(z.string()) })
const blindKinds = ['intent', 'entities', 'related', 'labels'] as const
const blindShape = z.object({
  queries: z.array(
    z.object({
      q: z.string(),
      intent: judgedItems,
      entities: judgedItems,
      related: judgedItems,
      labels: judgedItems,
    }),
  ),
})
type Ask = (q: string) => Promise<FoundAnswer>

/** Number of correct results, the total, and the wrong ones. */
interface Share {
  readonly cases: number
  readonly right: number
  readonly share: number
  readonly misses: readonly string[]
  /** Mean reciprocal rank of the first correct page, for searches for pages. */
  readonly mrr?: number
}

const parts = [
  'known',
  'typos',
  'unknown',
  'nothing',
  'relevant',
  'varied',
  'related',
  'labels',
  'entities',
  'expected',
  'intent',
] as const

/** Measured figures of one set, in parts. */
export type SetFigures = Readonly<Record<(typeof parts)[number], Share>>

/** Figures for queries drawn from titles: unchanged, with a typo of each kind, and with an unknown word. */
export type DrawnFigures = Readonly<Record<string, Share>>

/** Items that a reader judged without knowing the rules, and the number of items that were not there to be judged. */
export type BlindFigures = Readonly<
  Record<(typeof blindKinds)[number], Share & { readonly unjudged: number }>
>

/** The set that the service was tuned on, and the unseen ones. */
export interface QualityFigures {
  readonly tuned: SetFigures
  readonly unseen: SetFigures
  /** The newer of the two: more typos, more unknown words, more topics. */
  readonly held: SetFigures
  readonly drawn: DrawnFigures
  readonly blind: BlindFigures
  /** Median time of an answer in milliseconds. */
  readonly p50: number
}

/** The service and plain engines on the queries of all sets together. */
interface Compared {
  readonly known: Share
  readonly typos: Share
  readonly unknown: Share
  readonly nothing: Share
  /** Drawn titles with a typo. */
  readonly slips: Share
  /** Median time of a query in milliseconds. */
  readonly p50: number
}

/** Searches the shipped documents for the queries of the judged sets. */
export async function measureQuality(databaseUrl: string): Promise<QualityFigures> {
  return await withAsk(databaseUrl, async (plain) => {
    const times: number[] = []
    const ask: Ask = async (q) => await timedBy(times, () => plain(q))
    return {
      tuned: await judge(readSet('judged.json'), ask),
      unseen: await judge(readSet('unseen.json'), ask),
      held: await judge(readSet('held.json'), ask),
      drawn: await judgeDrawn('drawn', urlsOf(ask)),
      blind: await judgeBlind(ask),
      p50: medianOf(times),
    }
  })
}

/** Compares the answers with a reader's judgement of every item that an earlier version of the service showed. */
async function judgeBlind(ask: Ask): Promise<BlindFigures> {
  const text = readFileSync(join(root, 'test/bench/blind.json'), 'utf8')
  const { queries } = blindShape.parse(JSON.parse(text))
  const shown: { kind: (typeof blindKinds)[number]; verdict: boolean | null; item: string }[] = []
  for (const one of queries) {
    const answer = await ask(one.q)
    const given = {
      intent: [answer.intent],
      entities: answer.entities.map(({ name }) => name),
      related: answer.related_searches,
      labels: answer.clusters,
    }
    for (const kind of blindKinds) {
      for (const item of given[kind]) {
        const { right, wrong } = one[kind]
        const verdict = right.includes(item) ? true : wrong.includes(item) ? false : null
        shown.push({ kind, verdict, item: `${one.q}: ${item}` })
      }
    }
  }
  const figures = blindKinds.map((kind) => {
    const own = shown.filter((one) => one.kind === kind)
    const judged = own.flatMap(({ verdict, item }): Verdict[] =>
      verdict === null ? [] : [[verdict, item]],
    )
    return [kind, { ...share(judged), unjudged: own.length - judged.length }]
  })
  return Object.fromEntries(figures) as BlindFigures
}

function urlsOf(ask: Ask): FindUrls {
  return async (q) => (await ask(q)).organic_results.map(({ url }) => url)
}

/** Runs the same queries on each plain engine. */
async function measureBaselines(databaseUrl: string): Promise<Record<string, Compared>> {
  const tables = await openTables(databaseUrl, 1)
  try {
    const figures: Record<string, Compared> = {}
    for (const [name, find] of Object.entries(openBaselines(tables))) {
      figures[name] = await compareOne(find)
    }
    return figures
  } finally {
    await tables.close()
  }
}

async function compareOne(find: FindUrls): Promise<Compared> {
  const sets = ['judged.json', 'unseen.json', 'held.json'].map(readSet)
  const times: number[] = []
  const timed: FindUrls = async (q) => await timedBy(times, () => find(q))
  const of = (part: 'known' | 'typos' | 'unknown') =>
    firstPages(
      sets.flatMap((set) => set[part]),
      timed,
    )
  return {
    known: await of('known'),
    typos: await of('typos'),
    unknown: await of('unknown'),
    nothing: await silences(
      sets.flatMap((set) => set.nothing),
      timed,
    ),
    slips: (await judgeDrawn('drawn', timed))['slips'] ?? share([]),
    p50: medianOf(times),
  }
}

/** The figures of the service in the same form. */
function summarise({ tuned, unseen, held, drawn, p50 }: QualityFigures): Compared {
  const of = (part: 'known' | 'typos' | 'unknown' | 'nothing') =>
    total([tuned[part], unseen[part], held[part]])
  return {
    known: of('known'),
    typos: of('typos'),
    unknown: of('unknown'),
    nothing: of('nothing'),
    slips: drawn['slips'] ?? share([]),
    p50,
  }
}

async function timedBy<T>(times: number[], work: () => Promise<T>): Promise<T> {
  const start = performance.now()
  const result = await work()
  times.push(performance.now() - start)
  return result
}

function medianOf(times: readonly number[]): number {
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0
}

/** Returns answers from the shipped documents as a client receives them. */
async function withAsk<T>(databaseUrl: string, work: (ask: Ask) => Promise<T>): Promise<T> {
  const tables = await openTables(databaseUrl, 2)
  try {
    const { account } = await new Keys(tables.pool).create({ kind: 'live' })
    const local = openLocal(tables, noDrift)
    const ask: Ask = async (q) => {
      const { signal } = new AbortController()
      const asker = { account, signal, gone: signal, deadline: Infinity }
      return (await local.answer(readSearch({ q }), asker)).answer
    }
    return await work(ask)
  } finally {
    await tables.close()
  }
}

/** Searches for the half of the titles that rules may be developed with. */
async function practise(databaseUrl: string): Promise<void> {
  const figures = await withAsk(databaseUrl, (ask) => judgeDrawn('practice', urlsOf(ask)))
  say('\nthe other half of those titles, for practice')
  for (const [name, { cases, right, share: reached, misses }] of Object.entries(figures)) {
    say(`  ${reached.toFixed(3)}  ${`${right} of ${cases}`.padEnd(11)} ${name}`)
    if (name !== 'slips') for (const miss of misses) say(`           ${miss}`)
  }
}

async function judgeDrawn(half: Half, find: FindUrls): Promise<DrawnFigures> {
  const sets = ['judged.json', 'unseen.json', 'held.json'].map(readSet)
  const taken = sets.flatMap(({ known, topics }) => [
    ...known.map(([q]) => q),
    ...topics.map(({ q }) => q),
  ])
  const { known, slips, unknown } = drawCases(half, new Set(taken))
  const groups: Record<string, readonly DrawnCase[]> = { known, ...slips, unknown }
  const figures: Record<string, Share> = {}
  for (const [name, cases] of Object.entries(groups)) {
    const verdicts: Verdict[] = []
    for (const { q, right } of cases) {
      const [first] = await find(q)
      verdicts.push([first !== undefined && right.has(first), `${q}: ${first ?? 'nothing'}`])
    }
    figures[name] = share(verdicts)
  }
  const all = Object.keys(slips).flatMap((kind) => figures[kind] ?? [])
  return { ...figures, slips: total(all) }
}

function total(shares: readonly Share[]): Share {
  const cases = shares.reduce((sum, one) => sum + one.cases, 0)
  const right = shares.reduce((sum, one) => sum + one.right, 0)
  const misses = shares.flatMap((one) => one.misses)
  const mrr = shares.reduce((sum, one) => sum + one.cases * (one.mrr ?? 0), 0) / Math.max(1, cases)
  const reached = Math.round((1000 * right) / Math.max(1, cases)) / 1000
  return { cases, right, share: reached, misses, ...(mrr === 0 ? {} : { mrr }) }
}

function readSet(name: string): JudgedSet {
  return shape.parse(JSON.parse(readFileSync(join(root, 'test/bench', name), 'utf8')))
}

async function judge(set: JudgedSet, ask: Ask): Promise<SetFigures> {
  return {
    known: await firstPages(set.known, urlsOf(ask)),
    typos: await firstPages(set.typos, urlsOf(ask)),
    unknown: await firstPages(set.unknown, urlsOf(ask)),
    nothing: await silences(set.nothing, urlsOf(ask)),
    ...(await judgeTopics(set, ask)),
    intent: share(
      set.intent.map(({ label, text, host }) => {
        const given = labelIntent(text, host === undefined ? [] : [host])
        return [given === label, `${text}: ${label}, got ${given}`]
      }),
    ),
  }
}

type Verdict = readonly [right: boolean, miss: string]

function share(verdicts: readonly Verdict[]): Share {
  const misses = verdicts.filter(([right]) => !right).map(([, miss]) => miss)
  const [cases, right] = [verdicts.length, verdicts.length - misses.length]
  return { cases, right, share: Math.round((1000 * right) / Math.max(1, cases)) / 1000, misses }
}

/** True if the first page is a correct one. */
async function firstPages(
  cases: readonly (readonly [string, string])[],
  find: FindUrls,
): Promise<Share> {
  const verdicts: Verdict[] = []
  let reciprocal = 0
  for (const [q, right] of cases) {
    const urls = await find(q)
    const at = urls.findIndex((url) => new RegExp(right, 'i').test(url))
    verdicts.push([at === 0, `${q}: ${urls[0] ?? 'nothing'}`])
    if (at >= 0) reciprocal += 1 / (at + 1)
  }
  return { ...share(verdicts), mrr: reciprocal / Math.max(1, cases.length) }
}

async function silences(queries: readonly string[], find: FindUrls): Promise<Share> {
  const verdicts: Verdict[] = []
  for (const q of queries) {
    const [first] = await find(q)
    verdicts.push([first === undefined, `${q}: ${first}`])
  }
  return share(verdicts)
}

type TopicPart = 'relevant' | 'varied' | 'related' | 'labels' | 'entities' | 'expected'

async function judgeTopics(
  { topics, organisations }: JudgedSet,
  ask: Ask,
): Promise<Record<TopicPart, Share>> {
  const [relevant, varied, related, labels, entities, expected]: Verdict[][] = [
    [],
    [],
    [],
    [],
    [],
    [],
  ]
  for (const topic of topics) {
    const answer = await ask(topic.q)
    const about = (text: string) => `${topic.q}: ${text}`
    // Fewer than five results count as wrong, because the documents contain more about each topic.
    for (let place = 0; place < 5; place += 1) {
      const page = answer.organic_results[place]
      const text = page === undefined ? '' : `${page.title} ${page.url} ${page.snippet}`
      relevant?.push([
        new RegExp(topic.about, 'i').test(text),
        about(`${page?.title} ${page?.url}`),
      ])
    }
    varied?.push(...varieties(answer).map(([right, miss]): Verdict => [right, about(miss)]))
    for (const text of answer.related_searches) {
      const finds = (await ask(text)).organic_results.length > 0
      related?.push([finds && isUsableSearch(text, topic), about(text)])
    }
    for (const label of answer.clusters) {
      labels?.push([isUsableLabel(label, topic), about(label)])
    }
    for (const one of answer.entities) {
      entities?.push([isRightEntity(one, topic, organisations), about(`${one.name} (${one.type})`)])
    }
    if (topic.expected !== undefined) expected?.push(expectOne(topic, answer))
  }
  return {
    relevant: share(relevant ?? []),
    varied: share(varied ?? []),
    related: share(related ?? []),
    labels: share(labels ?? []),
    entities: share(entities ?? []),
    expected: share(expected ?? []),
  }
}

/** Counts the first ten results that are not the third or a later page of their folder. */
function varieties({ organic_results: results }: FoundAnswer): Verdict[] {
  const folders = results.slice(0, 10).map(({ url }) => folderOf(url))
  return folders.map((folder, at) => [
    folders.slice(0, at).filter((earlier) => earlier === folder).length < 2,
    results[at]?.url ?? '',
  ])
}

function expectOne({ q, expected = '' }: Topic, { entities }: FoundAnswer): Verdict {
  const found = entities.some(({ name }) => new RegExp(expected, 'i').test(name))
  return [found, `${q}: ${entities.map(({ name }) => name).join(', ') || 'none'}`]
}

const meanings: Readonly<Record<(typeof parts)[number], string>> = {
  known: 'known pages that come first',
  typos: 'the same with one typo',
  unknown: 'the same with one word that is in no document',
  nothing: 'queries about something else that find nothing',
  relevant: 'of the first five results relevant',
  varied: 'of the first ten results not the third of their folder',
  related: 'related searches that can be used',
  labels: 'cluster labels that can be used',
  entities: 'entities that are right',
  expected: 'entities that have to be there and are',
  intent: 'intents as a person labelled them',
}

const sets = {
  tuned: 'the set that it was tuned on (test/bench/judged.json)',
  unseen: 'the set that it never was (test/bench/unseen.json)',
  held: 'a second such set (test/bench/held.json)',
}

/** Prints the figures of each set separately. */
export async function benchQuality(
  databaseUrl: string,
  { misses }: { readonly misses: boolean },
): Promise<QualityFigures & { readonly engines: Readonly<Record<string, Compared>> }> {
  const figures = await measureQuality(databaseUrl)
  for (const name of ['tuned', 'unseen', 'held'] as const) {
    say(`\n${sets[name]}`)
    for (const part of parts) {
      const { cases, right, share: reached, misses: wrong } = figures[name][part]
      if (cases === 0) continue
      say(`  ${reached.toFixed(3)}  ${`${right} of ${cases}`.padEnd(11)} ${meanings[part]}`)
      // The misses of the other sets are not printed, so that no rule is made for them.
      if (misses && name === 'tuned') for (const miss of wrong) say(`           ${miss}`)
    }
  }
  say(
    '\ntitles that a rule drew (test/bench/drawn.ts), asked as they stand, with each kind of slip, beside a strange word',
  )
  for (const [name, { cases, right, share: reached }] of Object.entries(figures.drawn)) {
    say(`  ${reached.toFixed(3)}  ${`${right} of ${cases}`.padEnd(11)} ${name}`)
  }
  say('\n60 queries judged by a reader who did not know the rules (test/bench/blind.json)')
  for (const kind of blindKinds) {
    const { cases, right, share: reached, unjudged } = figures.blind[kind]
    const rest = unjudged === 0 ? '' : `, and ${unjudged} not judged`
    say(`  ${reached.toFixed(3)}  ${`${right} of ${cases}`.padEnd(11)} ${kind}${rest}`)
  }
  if (misses) await practise(databaseUrl)
  const engines = { service: summarise(figures), ...(await measureBaselines(databaseUrl)) }
  say(
    '\nthe service beside plain engines, on the queries of the three judged sets and the drawn slips',
  )
  for (const [name, one] of Object.entries(engines)) say(describeEngine(name, one))
  return { ...figures, engines }
}

function describeEngine(name: string, { p50, ...shares }: Compared): string {
  const told = Object.entries(shares).map(([part, { cases, right, mrr }]) => {
    const order = mrr === undefined ? '' : ` (MRR ${mrr.toFixed(3)})`
    return `${part} ${right} of ${cases}${order}`
  })
  return `  ${name.padEnd(11)} ${told.join(', ')}; p50 ${p50.toFixed(1)} ms`
}
