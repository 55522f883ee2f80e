import { z } from '@hono/zod-openapi'
import { Refusal } from './refusal.ts'

// Written out: a pattern in a description of an API has no flags.
const numeral = /^[+-]?\d+(\.\d+)?(e\d+)?$/i
const mostPages = 10
/** Results that are within reach of one query, however they are paged. */
export const mostReach = 100

/** What a rule says when it is broken. */
export function rule(name: string, text: string) {
  return { error: `${name} must be ${text}` }
}

/** A parameter that is a whole number, however it is written. */
export function wholeParam(name: string, least: number, most: number) {
  const text = rule(name, `a whole number from ${least} to ${most}`)
  return z
    .string(text)
    .regex(numeral, text)
    .transform(Number)
    .pipe(z.int(text).min(least, text).max(most, text))
    .optional()
}

const safeties = ['off', 'moderate', 'strict'] as const
const ages = ['any', 'day', 'week', 'month', 'year'] as const

/** Parameters that the specification does not have: who does not send them is answered as if they did not exist. */
export const additions = {
  page: wholeParam('page', 1, mostPages).openapi({
    type: 'integer',
    minimum: 1,
    maximum: mostPages,
    default: 1,
    description: `Not in the specification: page 2 goes on where page 1 ended, positions included; page times num is at most ${mostReach}.`,
  }),
  safe: z
    .enum(safeties, rule('safe', `one of ${safeties.join(', ')}`))
    .optional()
    .openapi({
      description:
        'Not in the specification: how strictly pages for adults are left out; no default. Named in X-Ignored-Params where the upstream cannot tell.',
    }),
  freshness: z
    .enum(ages, rule('freshness', `one of ${ages.join(', ')}`))
    .optional()
    .openapi({
      default: 'any',
      description:
        'Not in the specification: only pages of the last day, week, month or year. Named in X-Ignored-Params where the upstream cannot tell.',
    }),
}

/** The additions as the providers see them. */
export interface Additions {
  /** From 1. */
  readonly page: number
  readonly safe: (typeof safeties)[number] | null
  readonly freshness: Exclude<(typeof ages)[number], 'any'> | null
}

interface Sent {
  readonly page?: number | undefined
  readonly safe?: Additions['safe'] | undefined
  readonly freshness?: (typeof ages)[number] | undefined
}

/** Fills in what was not sent; a page beyond reach is refused. */
export function readAdditions({ page = 1, safe, freshness = 'any' }: Sent, num: number): Additions {
  if (page > 1 && page * num > mostReach) {
    const text = `page must be at most ${Math.floor(mostReach / num)} with num ${num}: ${mostReach} results are within reach`
    throw new Refusal(400, text)
  }
  return { page, safe: safe ?? null, freshness: freshness === 'any' ? null : freshness }
}
