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

/** Accepts a PostgreSQL address. For an invalid value, the hint shows an example with the given user. */
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

// Timers are limited to 2^31 milliseconds. A timer with a longer delay would fire continuously.
const longestMs = dayMs
const rateText = 'a number of at least 0.00001'

function setting<Shape extends z.ZodType>(shape: Shape, hint: string, fallback?: string) {
  return { shape, hint, fallback }
}

/** All settings, each with its shape, a hint for invalid values, and its default as a user would type it. */
export const settings = {
  SEARCH_API_URL: setting(
    website('https://api.example.com'),
    'give the base address, without /v1/search',
  ),
  // A line break would make the header invalid, and the error from the fetch library would contain the key.
  SEARCH_API_KEY: setting(
    z.string().regex(/^[\x21-\x7e]+$/, { error: 'one word of printable ASCII characters' }),
    'copy the key again from where it was issued',
  ),
  SEARCH_API_KEY_FILE: setting(z.string(), 'name a readable file that contains the key'),
  DATABASE_URL: setting(postgres('user'), 'leave it unset to use the embedded PostgreSQL'),
  MILL_REPLICA_URL: setting(
    postgres('user'),
    'a standby server of the database in DATABASE_URL; leave it unset to read from DATABASE_URL',
  ),
  MILL_ANALYST_URL: setting(
    postgres('analyst'),
    `${npmRun('migrate --')} --analyst NAME prints the address; leave it unset to query as the user of DATABASE_URL`,
  ),
  REDIS_URL: setting(
    z.string().refine((text) => readRedisAddress(text) !== null, { error: redisText }),
    'leave it unset to use PostgreSQL for the queue',
  ),
  MILL_HOME: setting(z.string(), 'name a writable folder', join(workplace, '.querymill')),
  MILL_ACCOUNT: setting(
    z.string(),
    'any account name; workers with the same account name share one balance',
  ),
  MILL_CREDIT_FLOOR: setting(whole(0), 'credits that must stay in the account', '100'),
  MILL_CONCURRENCY: setting(whole(1, 1000), 'calls in flight per worker', '8'),
  MILL_MAX_IN_FLIGHT: setting(
    whole(1),
    'maximum calls in flight across all workers; leave it unset for no limit',
  ),
  MILL_RATE_LIMIT: setting(
    z
      .string()
      .regex(/^\d+(\.\d+)?$/, { error: rateText })
      .transform(Number)
      .refine((value) => value >= 0.00001, { error: rateText }),
    'maximum calls per second across all workers; leave it unset for no limit',
  ),
  MILL_TIMEOUT_MS: setting(whole(1, 600_000), 'milliseconds for one call', '30000'),
  MILL_MAX_AGE: setting(
    duration('a duration like 12h, 90m or 0, at most 36500d'),
    'answers younger than this are reused; 0 disables reuse',
    '12h',
  ),
  MILL_DAILY_BUDGET: setting(whole(1), 'credits per day; leave it unset for no limit'),
  MILL_MONTHLY_BUDGET: setting(whole(1), 'credits per month; leave it unset for no limit'),
  MILL_UNKNOWN: setting(
    z.enum(['retry', 'hold'], { error: '"retry" or "hold"' }),
    'hold: never buy a query again if it may already have been charged',
    'retry',
  ),
  MILL_RENEWAL: setting(
    z.string().transform((text, context) => {
      const reading = readCron(text)
      if (reading.kind === 'cron') return reading.cron
      context.addIssue({ code: 'custom', message: cronText })
      return z.NEVER
    }),
    'time when the plan renews; leave it unset if unknown',
  ),
  MILL_PROBE_EVERY: setting(
    duration('a duration of at least 1s, like 1h', 1_000),
    'each probe is a paid call, even below the floor; leave it unset to disable probes',
  ),
  MILL_LEASE_MS: setting(
    whole(500, longestMs),
    'the lease must outlast a call and the storage of its answer',
    '90000',
  ),
  MILL_STALL_MS: setting(
    whole(1000, longestMs),
    'a drain that receives only rate-limit responses ends after this time',
    '600000',
  ),
  MILL_ZONE: setting(
    z.string().refine(isZone, { error: 'a time zone like Europe/Berlin' }),
    'the time zone for run dates',
    'UTC',
  ),
  MILL_METRICS_HOST: setting(
    z.string().regex(/^[\w.:-]+$/, { error: 'an address or host name of this machine' }),
    'use 0.0.0.0 in a container so that Prometheus can connect from another container',
    '127.0.0.1',
  ),
  MILL_METRICS_PORT: setting(whole(0, 65_535), 'leave it unset for no metrics'),
  UPSTREAM: setting(
    z.enum(['local', 'searxng', 'mock'], { error: '"local", "searxng" or "mock"' }),
    "source of the search service's answers for live keys",
    'local',
  ),
  SEARXNG_URL: setting(
    website('http://127.0.0.1:8080'),
    'the SearXNG instance behind the search service, for UPSTREAM=searxng',
  ),
  SERVICE_PUBLIC_URL: setting(
    website('https://search.example.com'),
    'public URL of the search service, with its path; leave it unset if clients connect directly',
  ),
  SERVICE_PASSWORD: setting(
    z
      .string()
      .min(12, { error: 'at least 12 characters' })
      .transform((text) => new Secret(text)),
    "password for the search service's dashboard",
  ),
  SERVICE_KEEP_QUERIES: setting(
    duration('a duration like 90d or 12h'),
    'how long the search service keeps query texts',
    '90d',
  ),
  MILL_WEBHOOK: setting(website('https://chat.example.com/hook'), 'leave it unset for no notices'),
  MILL_WEBHOOK_SECRET: setting(
    z.string().regex(secretShape, {
      error:
        'whsec_ followed by at least 24 bytes in base64, or one word of at least 24 characters',
    }),
    'the receiver needs the same value to verify signatures',
  ),
  MILL_WEBHOOK_SECRET_FILE: setting(z.string(), 'name a readable file that contains the secret'),
  MILL_WEBHOOK_EVENTS: setting(
    someOf(webhookEvents),
    'names separated by commas; leave it unset for all',
  ),
  MILL_WEBHOOK_FORMAT: setting(
    z.enum(['json', 'slack'], { error: '"json" or "slack"' }),
    'leave it unset to use slack for hooks.slack.com, and json otherwise',
  ),
  MILL_UNATTENDED: setting(
    duration('a duration like 30m, or 0'),
    'open tasks without a worker are reported after this time; 0 disables the report',
    '30m',
  ),
}

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
