import { isDeepStrictEqual } from 'node:util'
import { rereadAnswer } from '../../search/verdict.ts'
import { refusedRows, type Answer } from '../../store/answers/answer.ts'
import { readAnswers, type AnswerRows } from '../../store/answers/answers.ts'
import type { Database } from '../../store/database.ts'
import {
  readProofs,
  readPages,
  type AnswerFigures,
  type BodySample,
  type StoredPage,
} from '../../store/operator/proofs.ts'

/** What rebuilding answers from their bodies came to. */
export interface Rebuilt {
  readonly answers: number
  readonly violations: number
}

const batch = 64

/** Reads kept bodies again and compares what they say with the rows: any difference was made by somebody else. */
export async function rebuildAnswers(db: Database, sample: BodySample): Promise<Rebuilt> {
  let answers = 0
  let violations = 0
  for await (const proofs of readProofs(db, sample, batch)) {
    const ids = proofs.map(({ id }) => id)
    const documents = await readAnswers(db, ids)
    const said = proofs.map((proof) => ({ proof, answer: rereadAnswer(proof) }))
    for (const { proof, answer } of said) {
      const rows = documents.get(proof.id)
      if (rows === undefined || !isSame(answer, rows, proof)) violations += 1
    }
    const pages = pagesOf(said.map(({ answer }) => answer))
    const stored = await readPages(db, ids)
    violations += stored.filter((page) => !isDeepStrictEqual(page, pages.get(page.url))).length
    answers += proofs.length
  }
  return { answers, violations }
}

function isSame(answer: Answer, rows: AnswerRows, figures: AnswerFigures): boolean {
  const { depth, replaced, result_count: results } = figures
  // Read, and kept without its rows: there is nothing that its body could say otherwise.
  if (rows.parse_error?.startsWith(refusedRows) === true) return rows.organic_results.length === 0
  return (
    depth === answer.depth &&
    replaced === answer.replaced &&
    results === answer.results.length &&
    isDeepStrictEqual(plain(rowsOf(answer, rows.q)), plain(rows))
  )
}

function rowsOf(answer: Answer, q: string): AnswerRows {
  return {
    q,
    parse_error: answer.parseError,
    intent: answer.intent,
    sentiment: answer.sentiment,
    credits_used: answer.creditsUsed,
    credits_remaining: answer.creditsRemaining,
    extra: answer.extra,
    as_given: answer.asGiven,
    organic_results: answer.results.map(({ item }) => ({
      position: item.position,
      title: item.title,
      url: item.page?.url ?? null,
      snippet: item.snippet,
      domain: item.domain?.host ?? null,
      extra: item.extra,
      as_given: item.asGiven,
    })),
    entities: answer.entities.map(({ item: { name, type } }) => ({ name, type })),
    clusters: answer.clusters.map(({ item }) => item.text),
    related_searches: answer.related.map(({ item }) => item.text),
  }
}

/** As it would come back from a column: there is no negative zero in one. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}

function pagesOf(answers: readonly Answer[]): ReadonlyMap<string, StoredPage> {
  const pages = new Map<string, StoredPage>()
  const found = answers.flatMap(({ results, features }) => [...results, ...features])
  for (const { item } of found) {
    if (item.page === null) continue
    const { url, key, domain } = item.page
    const site = { host: domain?.host ?? null, site: domain?.site ?? null }
    pages.set(url, { url, url_key: key, ...site })
  }
  return pages
}
