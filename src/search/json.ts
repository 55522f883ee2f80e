import type { JsonObject } from '../store/answers/answer.ts'
import { clean } from './clean.ts'

/** A body that was read: a JSON object, fit for Postgres. */
export interface Readable {
  readonly problem: null
  readonly fields: JsonObject
  readonly replaced: number
}

/** A body that says nothing, and why. */
export interface Unreadable {
  readonly problem: string
}

/** Reads any bytes as a JSON object, or says why they are none. Never throws. */
export function readBody(body: Buffer, truncated: boolean): Readable | Unreadable {
  if (body.length === 0) return { problem: 'expected a JSON object, got an empty body' }
  const text = body.toString('utf8').replace(/^\ufeff/, '')
  let parsed: unknown
  try {
    parsed = JSON.parse(text)
  } catch {
    // The parser's own message quotes the body, which may be anything.
    return {
      problem: truncated
        ? `expected a whole body, got the first ${body.length} bytes of one`
        : `expected JSON, got ${body.length} bytes of something else`,
    }
  }
  if (!isObject(parsed)) return { problem: `expected a JSON object, got ${nameOf(parsed)}` }
  const { value, replaced, problem } = clean(parsed, text.includes('\\u'))
  if (problem !== null || !isObject(value)) return { problem: problem ?? 'expected a JSON object' }
  return { problem: null, fields: value, replaced }
}

/** True for what JSON calls an object. */
export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function nameOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'a list' : `a ${typeof value}`
}
