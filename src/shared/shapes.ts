import { z } from 'zod'
import { readRedisAddress } from './redis-address.ts'
import { readDuration } from './time/duration.ts'

/** A whole number within bounds. */
export function whole(least: number, most = Number.MAX_SAFE_INTEGER) {
  const expected =
    most === Number.MAX_SAFE_INTEGER
      ? `a whole number from ${least} up`
      : `a whole number from ${least} to ${most}`
  return z
    .string()
    .regex(/^-?\d+$/, { error: expected })
    .transform(Number)
    .refine((value) => value >= least && value <= most, { error: expected })
}

/** An address of one of these protocols. */
export function address(protocols: readonly string[], example: string) {
  const expected = `an address like ${example}`
  return z
    .string()
    .refine((text) => URL.canParse(text), { error: expected })
    .refine((text) => !URL.canParse(text) || protocols.includes(new URL(text).protocol), {
      error: expected,
    })
}

/** A database, as this user reaches it. */
export function postgres(user: string) {
  return address(['postgres:', 'postgresql:'], `postgres://${user}:password@host:5432/name`)
}

const redisText =
  'an address like redis://127.0.0.1:6379, rediss://host:6379, redis+sentinel://host:26379,host:26379/NAME or redis+cluster://host:6379,host:6379'

/** A Redis, or servers that know where it is. */
export function redis() {
  return z.string().refine((text) => readRedisAddress(text) !== null, { error: redisText })
}

/** A duration, as people write it. */
export function duration(expected: string, leastMs = 0) {
  return z.string().transform((text, context) => {
    const value = readDuration(text)
    if (value === null || value < leastMs) context.addIssue({ code: 'custom', message: expected })
    return value ?? 0
  })
}

/** Some of these words, with commas between them. */
export function someOf<Word extends string>(words: readonly Word[]) {
  return z.string().transform((text, context) => {
    const given = text.split(',').map((word) => word.trim())
    const found = words.filter((word) => given.includes(word))
    if (given.some((word) => !found.includes(word as Word))) {
      context.addIssue({ code: 'custom', message: `some of ${words.join(', ')}` })
    }
    return found
  })
}

/** What people write in a cell for yes or no, in whatever case; null for anything else. */
export function readSwitch(text: string): boolean | null {
  const word = text.toLowerCase()
  if (['yes', 'on', 'true', '1'].includes(word)) return true
  return ['no', 'off', 'false', '0'].includes(word) ? false : null
}
