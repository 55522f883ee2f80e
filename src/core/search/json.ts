// Reads a body as JSON that Postgres can store.

import type { Json, JsonObject } from '../../base/answer.ts'

/** A body that is a JSON object and can be stored in Postgres. */
export interface Readable {
  readonly problem: null
  readonly fields: JsonObject
  readonly replaced: number
}

/** Reads bytes as a JSON object, or explains why they cannot be read as one. Never throws. */
export function readBody(
  body: Buffer,
  truncated: boolean,
): Readable | { readonly problem: string } {
  if (body.length === 0) return { problem: 'expected a JSON object, got an empty body' }
  const text = body.toString('utf8').replace(/^\ufeff/, '')
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    // The parser's own message would quote the body, which may contain secrets.
    return {
      problem: truncated
        ? `expected a complete body, got only the first ${body.length} bytes`
        : `expected JSON, got ${body.length} bytes that are not JSON`,
    }
  }
  if (!isObject(parsed)) return { problem: `expected a JSON object, got ${nameOf(parsed)}` }
  // In UTF-8 JSON, NUL and lone surrogates occur only as escapes. Text without escapes need not be searched.
  const { value, problem, replaced } = clean(parsed, text.includes('\\u'))
  if (problem !== null || !isObject(value)) return { problem: problem ?? 'expected a JSON object' }
  return { problem: null, fields: value, replaced }
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function nameOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'a list' : `a ${typeof value}`
}

/** Maximum nesting depth of a body. Real answers need less. The limit prevents stack overflow in recursive code. */
const deepest = 64

/** Prepares JSON for Postgres: replaces NUL and lone surrogates, and rejects infinite numbers and deep nesting. */
function clean(given: unknown, escapes: boolean) {
  const found = { replaced: 0, problem: null as string | null }
  const cleanText = (text: string) =>
    text.replace(unfit, () => {
      found.replaced += 1
      return '\ufffd'
    })
  const cleanObject = (value: object, depth: number) => {
    const before = found.replaced
    const entries = Object.entries(value).map(([name, item]): [string, Json] => [
      cleanText(name),
      cleanValue(item, depth + 1),
    ])
    if (found.replaced > before) keepApart(entries)
    // Fields are not assigned one by one, because `__proto__` must be treated like any other field.
    return Object.fromEntries(entries)
  }
  const cleanValue = (value: unknown, depth: number): Json => {
    if (typeof value === 'string') return escapes ? cleanText(value) : value
    if (typeof value === 'number') {
      if (!Number.isFinite(value)) {
        found.problem = 'expected numbers up to 1.8e308, got a larger number'
      }
      return value
    }
    if (typeof value !== 'object' || value === null) return value === null ? null : Boolean(value)
    if (depth > deepest) {
      found.problem = `expected nesting of at most ${deepest} levels, got more`
      return null
    }
    if (escapes && Array.isArray(value)) return value.map((item) => cleanValue(item, depth + 1))
    if (escapes) return cleanObject(value, depth)
    // Without escapes, the value is checked but not copied.
    for (const item of Object.values(value)) cleanValue(item, depth + 1)
    return value as Json
  }
  return { value: cleanValue(given, 1), ...found }
}

// With the u flag, only unpaired surrogates match.
// eslint-disable-next-line no-control-regex -- finds NUL
const unfit = /[\0\ud800-\udfff]/gu

function keepApart(entries: [string, Json][]): void {
  const taken = new Set<string>()
  for (const entry of entries) {
    while (taken.has(entry[0])) entry[0] += '\ufffd'
    taken.add(entry[0])
  }
}
