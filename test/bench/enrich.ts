import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { say } from '../../src/base/cli/command.ts'
import { root } from '../../src/base/root.ts'
import { findEntities, Gazetteer } from '../../src/service/enrich/entities.ts'
import { labelIntent, labelSentiment } from '../../src/service/enrich/labels.ts'

const labelled = z.array(
  z.object({ label: z.string(), text: z.string(), host: z.string().optional() }),
)
const shape = z.object({
  intent: labelled,
  sentiment: labelled,
  known: z.array(z.object({ name: z.string(), type: z.string() })),
  entities: z.array(
    z.object({ q: z.string(), texts: z.array(z.string()), names: z.array(z.string()) }),
  ),
})

/** Agreement between the labels of the service and those of a person, from 0 to 1. */
export interface EnrichFigures {
  readonly intent: Agreement
  readonly sentiment: Agreement
  readonly entities: {
    readonly cases: number
    readonly precision: number
    readonly recall: number
    readonly ms: number
  }
}

interface Agreement {
  readonly cases: number
  readonly agreement: number
  /** Share of the most frequent label, which a constant answer would reach. */
  readonly baseline: number
  readonly us: number
  readonly misses: readonly string[]
}

/** Labels the set in labels.json and compares the result. */
export async function measureEnrich(): Promise<EnrichFigures> {
  const set = shape.parse(JSON.parse(readFileSync(join(root, 'test/bench/labels.json'), 'utf8')))
  return {
    intent: agree(set.intent, ({ text, host }) =>
      labelIntent(text, host === undefined ? [] : [host]),
    ),
    sentiment: agree(set.sentiment, ({ text }) => labelSentiment('', [text])),
    entities: await compareEntities(set),
  }
}

type Labelled = z.output<typeof labelled>

function agree(cases: Labelled, label: (one: Labelled[number]) => string): Agreement {
  const start = performance.now()
  const given = cases.map((one) => ({ ...one, given: label(one) }))
  const us = ((performance.now() - start) * 1000) / cases.length
  const counts = new Map<string, number>()
  for (const one of cases) counts.set(one.label, (counts.get(one.label) ?? 0) + 1)
  const misses = given.filter((one) => one.given !== one.label)
  return {
    cases: cases.length,
    agreement: round(1 - misses.length / cases.length),
    baseline: round(Math.max(...counts.values()) / cases.length),
    us: Math.round(us),
    misses: misses.map((one) => `${one.text}: ${one.label}, got ${one.given}`),
  }
}

async function compareEntities(set: z.output<typeof shape>): Promise<EnrichFigures['entities']> {
  const gazetteer = new Gazetteer(set.known)
  let [hits, found, wanted] = [0, 0, 0]
  const start = performance.now()
  for (const { q, texts, names } of set.entities) {
    const given = (await findEntities({ q, texts, known: [] }, gazetteer)).map(({ name }) => name)
    hits += given.filter((name) => names.includes(name)).length
    found += given.length
    wanted += names.length
  }
  const ms = (performance.now() - start) / set.entities.length
  const cases = set.entities.length
  return { cases, precision: round(hits / found), recall: round(hits / wanted), ms: round(ms) }
}

function round(value: number): number {
  return Math.round(value * 100) / 100
}

/** Prints the figures as a table and returns them. */
export async function benchEnrich(): Promise<EnrichFigures> {
  const figures = await measureEnrich()
  for (const name of ['intent', 'sentiment'] as const) {
    const { cases, agreement, baseline, us, misses } = figures[name]
    say(
      `${name.padEnd(10)} ${cases} cases  agreement ${agreement}  always the same ${baseline}  ${us} us each`,
    )
    for (const miss of misses) say(`             ${miss}`)
  }
  const { cases, precision, recall, ms } = figures.entities
  say(`entities   ${cases} cases  precision ${precision}  recall ${recall}  ${ms} ms each`)
  say(
    'The set was written by the author of the rules: read the figures as a guard, not as a promise.',
  )
  return figures
}
