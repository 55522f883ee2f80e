// Defines all settings, each with its shape, default and hint.

import { npmRun } from './cli/commands.ts'
import { join } from 'node:path'
import { z } from 'zod'
import { parseUrl, readRedisAddress } from './address.ts'
import { workplace } from './root.ts'
import { Secret } from './secret.ts'
import { readCron } from './time/cron.ts'
import { dayMs, readDuration } from './time/zone.ts'

function whole(least: number, most = Number.MAX_SAFE_INTEGER) {
  const error =
    most === Number.MAX_SAFE_INTEGER
      ? `a whole number of at least ${least}`
      : `a whole number from ${least} to ${most}`
  return z
    .string()
    .regex(/^-?\d+$/, { error })
    .transform(Number)
    .refine((value) => value >= least && value <= most, { error })
}

function address(protocols: readonly string[], example: string) {
  const expected = `an address like ${example}`
  return z
    .string()
    .refine((text) => protocols.includes(parseUrl(text)?.protocol ?? ''), { error: expected })
}

/** Accepts a PostgreSQL address. The hint for an invalid value shows an example with the given user. */
function postgres(user: string) {
  return address(['postgres:', 'postgresql:'], `postgres://${user}:password@host:5432/name`)
}

function website(example: string) {
  return address(['http:', 'https:'], example).transform((text) => new URL(text))
}

const redisText =
  'an address like redis://127.0.0.1:6379, rediss://host:6379, redis+sentinel://host:26379,host:26379/NAME or redis+cluster://host:6379,host:6379'

function duration(expected: string, leastMs = 0) {
  return z.string().transform((text, context) => {
    const value = readDuration(text)
    if (value === null || value < leastMs) context.addIssue({ code: 'custom', message: expected })
    return value ?? 0
  })
}

function someOf<Word extends string>(words: readonly Word[]) {
  const error = `one or more of ${words.join(', ')}`
  return z
    .string()
    .transform((text) => text.split(',').map((word) => word.trim()))
    .pipe(z.array(z.enum(words, { error })))
}

/** Parses yes or no in common spellings, or returns null for any other text. */
export function readSwitch(text: string): boolean | null {
  const word = text.toLowerCase()
  if (['yes', 'on', 'true', '1'].includes(word)) return true
  return ['no', 'off', 'false', '0'].includes(word) ? false : null
}

export const webhookEvents = [
  'run_finished',
  'run_suspect',
  'run_odd',
  'stop',
  'night_missed',
  'night_skipped',
  'night_late',
  'night_failed',
  'night_overdue',
  'work_unattended',
  'rank_alert',
  'rank_recovered',
  'new_field',
] as const

// Signature libraries expect a secret with the `whsec_` prefix to be base64-encoded.
const secretShape = /^(?:whsec_[A-Za-z0-9+/]{32,}={0,2}|(?!whsec_)[\x21-\x7e]{24,})$/

const cronText = 'a cron pattern of five fields that matches at least one day, like "0 0 1 * *"'

// Timers are limited to 2^31 milliseconds. A longer timer would fire immediately, over and over.
const longestMs = dayMs
const rateText = 'a number of at least 0.00001'

/** All settings, each with its shape, its default as a user would type it, and a hint for invalid values. */
export const settings = {
  SEARCH_API_URL: {
    shape: website('https://api.example.com'),
    hint: 'give the base address, without /v1/search',
  },
  SEARCH_API_KEY: {
    // A line break in a key would end the header, and fetch libraries quote such a key in their error message.
    shape: z.string().regex(/^[\x21-\x7e]+$/, { error: 'one word of printable ASCII characters' }),
    hint: 'copy the key again from where it was issued',
  },
  SEARCH_API_KEY_FILE: { shape: z.string(), hint: 'name a readable file that contains the key' },
  DATABASE_URL: { shape: postgres('user'), hint: 'leave it unset for the embedded Postgres' },
  MILL_REPLICA_URL: {
    shape: postgres('user'),
    hint: 'a standby of DATABASE_URL; leave it unset to read from DATABASE_URL',
  },
  MILL_ANALYST_URL: {
    shape: postgres('analyst'),
    hint: `${npmRun('migrate --')} --analyst NAME prints it; leave it unset to query as the user of DATABASE_URL`,
  },
  REDIS_URL: {
    shape: z.string().refine((text) => readRedisAddress(text) !== null, { error: redisText }),
    hint: 'leave it unset to queue on Postgres',
  },
  MILL_HOME: {
    shape: z.string(),
    hint: 'name a writable folder',
    fallback: join(workplace, '.querymill'),
  },
  MILL_ACCOUNT: {
    shape: z.string(),
    hint: 'any name; workers with the same name share one balance',
  },
  MILL_CREDIT_FLOOR: {
    shape: whole(0),
    hint: 'credits that must stay in the account',
    fallback: '100',
  },
  MILL_CONCURRENCY: { shape: whole(1, 1000), hint: 'calls in flight per worker', fallback: '8' },
  MILL_MAX_IN_FLIGHT: {
    shape: whole(1),
    hint: 'calls in flight across all workers; leave it unset for no limit',
  },
  MILL_RATE_LIMIT: {
    shape: z
      .string()
      .regex(/^\d+(\.\d+)?$/, { error: rateText })
      .transform(Number)
      .refine((value) => value >= 0.00001, { error: rateText }),
    hint: 'calls per second across all workers; leave it unset for no limit',
  },
  MILL_TIMEOUT_MS: {
    shape: whole(1, 600_000),
    hint: 'milliseconds for one call',
    fallback: '30000',
  },
  MILL_MAX_AGE: {
    shape: duration('a duration like 12h, 90m or 0, at most 36500d'),
    hint: 'answers younger than this are reused; 0 reuses none',
    fallback: '12h',
  },
  MILL_DAILY_BUDGET: { shape: whole(1), hint: 'credits per day; leave it unset for no limit' },
  MILL_MONTHLY_BUDGET: { shape: whole(1), hint: 'credits per month; leave it unset for no limit' },
  MILL_UNKNOWN: {
    shape: z.enum(['retry', 'hold'], { error: '"retry" or "hold"' }),
    hint: 'hold: never buy again what may already have been charged',
    fallback: 'retry',
  },
  MILL_RENEWAL: {
    shape: z.string().transform((text, context) => {
      const reading = readCron(text)
      if (reading.kind === 'cron') return reading.cron
      context.addIssue({ code: 'custom', message: cronText })
      return z.NEVER
    }),
    hint: 'when the plan renews; leave it unset if you do not know',
  },
  MILL_PROBE_EVERY: {
    shape: duration('a duration of at least 1s, like 1h', 1_000),
    hint: 'each probe costs a call, even below the floor; leave it unset for no probes',
  },
  MILL_LEASE_MS: {
    shape: whole(500, longestMs),
    hint: 'longer than it takes to make a call and store its answer',
    fallback: '90000',
  },
  MILL_STALL_MS: {
    shape: whole(1000, longestMs),
    hint: 'a drain that receives only rate-limit responses ends after this long',
    fallback: '600000',
  },
  MILL_ZONE: {
    shape: z.string().refine(isZone, { error: 'a time zone like Europe/Berlin' }),
    hint: 'the time zone for run dates',
    fallback: 'UTC',
  },
  MILL_METRICS_HOST: {
    shape: z.string().regex(/^[\w.:-]+$/, { error: 'an address or host name of this machine' }),
    hint: 'use 0.0.0.0 in a container so that Prometheus can connect from another container',
    fallback: '127.0.0.1',
  },
  MILL_METRICS_PORT: { shape: whole(0, 65_535), hint: 'leave it unset for no metrics' },
  UPSTREAM: {
    shape: z.enum(['local', 'searxng', 'mock'], { error: '"local", "searxng" or "mock"' }),
    hint: 'where the search service gets answers for live keys',
    fallback: 'local',
  },
  SEARXNG_URL: {
    shape: website('http://127.0.0.1:8080'),
    hint: 'the SearXNG instance behind the search service, for UPSTREAM=searxng',
  },
  SERVICE_PUBLIC_URL: {
    shape: website('https://search.example.com'),
    hint: 'where clients reach the search service, with its path; leave it unset when they reach it directly',
  },
  SERVICE_PASSWORD: {
    shape: z
      .string()
      .min(12, { error: 'at least 12 characters' })
      .transform((text) => new Secret(text)),
    hint: 'protects the dashboard of a search service that others can reach',
  },
  SERVICE_KEEP_QUERIES: {
    shape: duration('a duration like 90d or 12h'),
    hint: 'how long the search service keeps query texts',
    fallback: '90d',
  },
  MILL_WEBHOOK: {
    shape: website('https://chat.example.com/hook'),
    hint: 'leave it unset for no notices',
  },
  MILL_WEBHOOK_SECRET: {
    shape: z.string().regex(secretShape, {
      error: 'whsec_ and at least 24 bytes in base64, or one word of at least 24 characters',
    }),
    hint: 'the receiver needs the same value to verify signatures',
  },
  MILL_WEBHOOK_SECRET_FILE: {
    shape: z.string(),
    hint: 'name a readable file that contains the secret',
  },
  MILL_WEBHOOK_EVENTS: {
    shape: someOf(webhookEvents),
    hint: 'names separated by commas; leave it unset for all',
  },
  MILL_WEBHOOK_FORMAT: {
    shape: z.enum(['json', 'slack'], { error: '"json" or "slack"' }),
    hint: 'leave it unset to use slack for hooks.slack.com, and json otherwise',
  },
  MILL_UNATTENDED: {
    shape: duration('a duration like 30m, or 0'),
    hint: 'open tasks without a worker are reported after this long; 0 means never',
    fallback: '30m',
  },
} as const

export type Name = keyof typeof settings
export type Value<N extends Name> = z.output<(typeof settings)[N]['shape']>

export function isZone(zone: string): boolean {
  if (zone === '') return false
  try {
    return new Intl.DateTimeFormat('en', { timeZone: zone }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}
