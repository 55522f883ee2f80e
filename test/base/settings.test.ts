import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { readConfig } from '../../src/base/config.ts'
import { BadSettings } from '../../src/base/errors.ts'

const key = { SEARCH_API_KEY: 'sk_test_secret' }

function said(env: Record<string, string>): string {
  try {
    readConfig(env)
  } catch (error) {
    if (error instanceof BadSettings) return error.message
    throw error
  }
  return ''
}

describe('a setting of milliseconds', () => {
  test.each(['MILL_LEASE_MS', 'MILL_STALL_MS', 'MILL_TIMEOUT_MS'])(
    '%s longer than a timer supports is refused with the maximum',
    (name) => {
      expect(said({ [name]: '12884901889' })).toMatch(
        new RegExp(`${name}: expected a whole number from \\d+ to \\d+, got "12884901889"`),
      )
    },
  )

  test('too short for a lease is reported once, with its value', () => {
    const lines = said({ MILL_LEASE_MS: '5' }).split('\n').slice(1)
    expect(lines).toEqual([
      '- MILL_LEASE_MS: expected a whole number from 500 to 86400000, got "5"; the lease must outlast a call and the storage of its answer',
    ])
  })

  test('shorter than a call is not a lease', () => {
    expect(said({ MILL_LEASE_MS: '500', MILL_TIMEOUT_MS: '500' })).toContain(
      'MILL_LEASE_MS: expected at least 750, which is 1.5 times MILL_TIMEOUT_MS (500), got 500;',
    )
  })

  test('just above the timeout is not a lease, because hardly any call would start under it', () => {
    const settings = (lease: string) => ({ MILL_LEASE_MS: lease, MILL_TIMEOUT_MS: '30000' })
    expect(said(settings('44999'))).toContain('MILL_LEASE_MS: expected at least 45000')
    expect(readConfig(settings('45000')).leaseMs).toBe(45_000)
  })

  test('of a whole day is accepted', () => {
    expect(readConfig({ MILL_LEASE_MS: '86400000' }).leaseMs).toBe(86_400_000)
  })
})

describe('an invalid setting', () => {
  const wrong: Record<string, string> = {
    SEARCH_API_URL: 'ftp://api.example.com',
    SEARCH_API_KEY: 'sk_live_hidden word',
    DATABASE_URL: 'mysql://me:pass@host/db',
    REDIS_URL: 'http://redis',
    MILL_CREDIT_FLOOR: '-1',
    MILL_CONCURRENCY: '1001',
    MILL_RATE_LIMIT: 'many',
    MILL_TIMEOUT_MS: '0',
    MILL_MAX_AGE: '-1h',
    MILL_DAILY_BUDGET: '0',
    MILL_UNKNOWN: 'forget',
    MILL_RENEWAL: '@monthly',
    MILL_LEASE_MS: '499',
    MILL_STALL_MS: '1.5',
    MILL_ZONE: 'Mars',
    MILL_METRICS_PORT: '65536',
    MILL_WEBHOOK: 'hidden-hook',
    MILL_WEBHOOK_SECRET: 'hidden-too-short',
    MILL_WEBHOOK_EVENTS: 'stop, everything',
    MILL_WEBHOOK_FORMAT: 'teams',
    MILL_UNATTENDED: 'soon',
    UPSTREAM: 'elsewhere',
    SEARXNG_URL: 'redis://searxng',
  }

  test.each(Object.keys(wrong))('%s is reported with its value', (name) => {
    const value = wrong[name] ?? ''
    const lines = said({ [name]: value }).split('\n')
    const line = lines.find((each) => each.startsWith(`- ${name}: expected `)) ?? ''
    const shown: Record<string, string> = {
      SEARCH_API_KEY: '2 words of 19 characters',
      MILL_WEBHOOK: 'a word of 11 characters',
      MILL_WEBHOOK_SECRET: 'a word of 16 characters',
      DATABASE_URL: '"mysql://me:…@host/db"',
    }
    expect(line).toContain(`, got ${shown[name] ?? JSON.stringify(value)}; `)
    expect(line).not.toMatch(/hidden|pass@/)
  })

  test('with a secret reports how many of its characters cannot be sent', () => {
    expect(said({ SEARCH_API_KEY: 'sk_live_ä' })).toContain(
      'got a word of 9 characters, 1 of them not printable ASCII',
    )
  })

  test('with a missing key file reports what is at that path', () => {
    const complaint = (file: string) => said({ SEARCH_API_KEY_FILE: file })
    expect(complaint('/nonexistent/key')).toContain(
      'SEARCH_API_KEY_FILE: expected /nonexistent/key to be a readable file, got a path that does not exist',
    )
    expect(complaint('/dev/null')).toContain(
      'SEARCH_API_KEY_FILE: expected one key in /dev/null, got nothing',
    )
    expect(complaint('/')).toContain(
      'expected / to be a readable file, got a folder; name the file',
    )
  })
})

describe('the limit of calls per second', () => {
  test.each(['0', '0.000001', '-1', 'many'])(
    '%s is refused because it is less than one call a day',
    (rate) => {
      expect(said({ MILL_RATE_LIMIT: rate })).toContain(
        `MILL_RATE_LIMIT: expected a number of at least 0.00001, got "${rate}"`,
      )
    },
  )

  test('may be one call a day', () => {
    expect(readConfig({ MILL_RATE_LIMIT: '0.00002' }).rateLimit).toBe(0.00002)
  })
})

describe('the renewal of the plan', () => {
  test.each(['x x x x x', '0 0 30 2 *', '0 0 32 * *', '0 0 * *', '0 0 0 1 * *', '@monthly'])(
    '%j is refused because it never matches a day, or is not a pattern of five fields',
    (pattern) => {
      expect(said({ MILL_RENEWAL: pattern })).toContain(
        `MILL_RENEWAL: expected a cron pattern of five fields that matches at least one day, like "0 0 1 * *", got "${pattern}"`,
      )
    },
  )
})

describe('the address of the API', () => {
  test.each([
    ['https://api.example.com/v1/search', 'https://api.example.com'],
    ['https://api.example.com/v1/search/', 'https://api.example.com'],
    ['https://api.example.com:8443/v1/search?q=a', 'https://api.example.com:8443'],
    ['https://api.example.com/proxy/v1/search', 'https://api.example.com/proxy'],
  ])('%s is refused with the correct one, %s', (url, right) => {
    expect(said({ SEARCH_API_URL: url, ...key })).toContain(
      `SEARCH_API_URL: expected the base address ${right}, got an address with /v1/search`,
    )
  })

  test.each([
    'https://api.example.com',
    'https://api.example.com/',
    'https://api.example.com/proxy',
    'https://api.example.com/v1/search/proxy',
    'https://api.example.com/v1/searches',
    'http://127.0.0.1:8787',
  ])('%s is accepted', (url) => {
    expect(readConfig({ SEARCH_API_URL: url, ...key }).api?.url.href).toBe(new URL(url).href)
  })

  test('is checked together with the other settings, and no message contains a key', () => {
    const message = said({
      SEARCH_API_URL: 'http://me:pass@api.example.com/v1/search?api_key=sk_live_hidden',
      MILL_CONCURRENCY: '0',
    })
    for (const problem of [
      'SEARCH_API_URL: expected the base address http://api.example.com,',
      'SEARCH_API_URL: expected an address without a key, got an address with a user name or password',
      'SEARCH_API_URL: expected https, got http',
      'SEARCH_API_KEY: expected a key',
      'MILL_CONCURRENCY: expected a whole number',
    ]) {
      expect(message).toContain(problem)
    }
    expect(message).not.toMatch(/pass@|hidden/)
  })
})

describe('the webhook', () => {
  const hook = { MILL_WEBHOOK: 'https://chat.example.com/hook' }

  test('gets every event, as JSON and unsigned, by default', () => {
    expect(readConfig(hook).webhook).toMatchObject({ secret: null, format: 'json' })
    expect(readConfig(hook).webhook?.events).toContain('work_unattended')
    expect(readConfig({}).webhook).toBeNull()
  })

  test('of Slack is recognised by its host, and an explicit format takes precedence', () => {
    const slack = { MILL_WEBHOOK: 'https://hooks.slack.com/services/T0/B0/x' }
    expect(readConfig(slack).webhook?.format).toBe('slack')
    expect(readConfig({ ...slack, MILL_WEBHOOK_FORMAT: 'json' }).webhook?.format).toBe('json')
    expect(readConfig({ ...hook, MILL_WEBHOOK_FORMAT: 'slack' }).webhook?.format).toBe('slack')
  })

  test('gets only the named events', () => {
    const { webhook } = readConfig({ ...hook, MILL_WEBHOOK_EVENTS: 'stop, night_overdue' })
    expect(webhook?.events).toEqual(['stop', 'night_overdue'])
  })

  test('reads its secret from a file, which may not be empty', () => {
    const folder = mkdtempSync(join(tmpdir(), 'querymill-secret-'))
    const file = join(folder, 'secret')
    writeFileSync(file, 'a-secret-for-tests-only-of-40-characters\n')
    const { webhook } = readConfig({ ...hook, MILL_WEBHOOK_SECRET_FILE: file })
    expect(webhook?.secret?.reveal()).toBe('a-secret-for-tests-only-of-40-characters')
    rmSync(folder, { recursive: true })
    expect(said({ ...hook, MILL_WEBHOOK_SECRET_FILE: '/dev/null' })).toContain(
      'MILL_WEBHOOK_SECRET_FILE: expected one key in /dev/null, got nothing',
    )
  })
})
