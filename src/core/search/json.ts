// Reads a body as JSON that Postgres can store.

import type { Json, JsonObject } from '../../base/answer.ts'

/** A body that could be read as a JSON object and stored in Postgres. */
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
  // In JSON from UTF-8, NUL and lone surrogates occur only as escapes. Without escapes, strings are not searched.
  const cleaner = new Cleaner(text.includes('\\u'))
  const value = cleaner.value(parsed, 1)
  const { problem, replaced } = cleaner
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

/** Maximum nesting of a body. No answer is that deep, and recursive readers must not overflow the stack. */
const deepest = 64

/** Makes JSON storable in Postgres: without NUL or lone surrogates, with finite numbers and limited nesting. */
class Cleaner {
  /** Number of characters replaced by U+FFFD because Postgres cannot store them. */
  replaced = 0
  /** Reason why the value cannot be stored, or null. */
  problem: string | null = null
  readonly #escapes: boolean

  constructor(escapes: boolean) {
    this.#escapes = escapes
  }

  value(value: unknown, depth: number): Json {
    if (typeof value === 'string') return this.#text(value)
    if (typeof value === 'number') return this.#number(value)
    if (typeof value !== 'object' || value === null) return value === null ? null : Boolean(value)
    if (depth > deepest) {
      this.problem = `expected nesting of at most ${deepest} levels, got more`
      return null
    }
    if (!this.#escapes) return this.#survey(value, depth)
    return Array.isArray(value)
      ? value.map((item) => this.value(item, depth + 1))
      : this.#object(value, depth)
  }

  /** Checks a value from text without escapes. Nothing needs replacing, so the value is not copied. */
  #survey(given: object, depth: number): Json {
    for (const value of Object.values(given)) this.value(value, depth + 1)
    return given as Json
  }

  #object(given: object, depth: number): Json {
    const before = this.replaced
    const entries = Object.entries(given).map(([name, value]): [string, Json] => [
      this.#text(name),
      this.value(value, depth + 1),
    ])
    if (this.replaced > before) keepApart(entries)
    // Fields are not assigned one by one, because `__proto__` must be treated like any other field.
    return Object.fromEntries(entries)
  }

  #text(text: string): string {
    if (!this.#escapes) return text
    return text.replace(unfit, () => {
      this.replaced += 1
      return '\ufffd'
    })
  }

  #number(number: number): number {
    if (!Number.isFinite(number)) {
      this.problem = 'expected numbers up to 1.8e308, got a larger number'
    }
    return number
  }
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
