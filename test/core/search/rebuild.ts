import type { JsonObject } from '../../../src/base/answer.ts'
import type { AnswerRows } from '../../../src/core/answers/store.ts'
import { answerColumns, type RowColumns } from '../../../src/core/search/parse.ts'

/**
 * The answer that rows were made of, equal to what its body says apart from the order of fields and characters that
 * Postgres cannot hold. Null for an answer that could not be read: it has no rows.
 */
export function rebuildAnswer(rows: AnswerRows): JsonObject | null {
  if (rows.parse_error !== null) return null
  const lists = {
    clusters: rows.clusters,
    entities: rows.entities.map(({ name, type }) => (type === null ? { name } : { name, type })),
    organic_results: rows.organic_results.map(({ extra, as_given, ...columns }) =>
      overlay(columns, as_given, extra),
    ),
    related_searches: rows.related_searches,
  }
  return overlay({ ...answerColumns(rows, rows.q), ...lists }, rows.as_given, rows.extra)
}

/** The inverse of `answerLeftover` and `resultLeftover`: what columns say, corrected by what they could not say, with all that they have no name for. */
function overlay(
  columns: RowColumns,
  asGiven: JsonObject | null,
  extra: JsonObject | null,
): JsonObject {
  const { missing, ...given } = asGiven ?? {}
  const absent = new Set(Array.isArray(missing) ? missing : [])
  const said = Object.entries(columns).filter(
    ([name, value]) => value !== null && !absent.has(name),
  )
  return Object.fromEntries([...said, ...Object.entries(given), ...Object.entries(extra ?? {})])
}
