import type { JsonObject } from '../../../src/base/answer.ts'
import type { AnswerRows } from '../../../src/core/answers/store.ts'

/**
 * Rebuilds the answer from its rows. It equals the content of its body, except for the order of fields and characters
 * that Postgres can't store. Null for an unreadable answer, which has no rows.
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
  const { q, intent, sentiment, credits_used, credits_remaining } = rows
  const columns = { success: true, query: q, intent, sentiment, credits_used, credits_remaining }
  return overlay({ ...columns, ...lists }, rows.as_given, rows.extra)
}

/**
 * The inverse of `leftover` of the parser: the columns, corrected and completed with the stored original
 * values.
 */
function overlay(
  columns: JsonObject,
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
