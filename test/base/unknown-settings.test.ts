// @module-tag slow
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { processEnvironment, readConfig } from '../../src/base/config.ts'
import { BadSettings } from '../../src/base/errors.ts'
import { root } from '../../src/base/root.ts'
import { temporaryFolder } from '../support/place.ts'
import { run } from '../support/run.ts'

const unusable = 'error: the settings are invalid:\n'
const unknown = (name: string, place: string, advice: string) =>
  `- ${name}: expected the name of a setting, got an unknown name ${place}; ${advice}\n`

function said(env: Record<string, string>, own: Record<string, string> = {}): string {
  try {
    readConfig(env, own)
  } catch (error) {
    if (error instanceof BadSettings) return error.message
    throw error
  }
  return ''
}

describe('a misspelt setting in the environment', () => {
  test('is refused with the intended name, together with every other problem', async () => {
    const env = {
      MILL_CREDT_FLOOR: '5000',
      SEARCH_API_KYE: 'sk_test_hidden',
      MILL_CONCURRENCY: '0',
    }
    expect(await run('status', [], env)).toMatchObject({
      code: 2,
      stdout: '',
      stderr:
        unusable +
        unknown('MILL_CREDT_FLOOR', 'in the environment', 'did you mean MILL_CREDIT_FLOOR?') +
        unknown('SEARCH_API_KYE', 'in the environment', 'did you mean SEARCH_API_KEY?') +
        '- MILL_CONCURRENCY: expected a whole number from 1 to 1000, got "0"; calls in flight per worker\n',
    })
  })

  test('does not prevent a command from printing its help', async () => {
    const { code, stdout, stderr } = await run('work', ['--help'], { MILL_CREDT_FLOOR: '5000' })
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toContain('Usage: npm run work --')
  })

  test.each([
    ['MILL_CREDITS_FLOOR', 'MILL_CREDIT_FLOOR'],
    ['MILL_FLOOR', 'MILL_CREDIT_FLOOR'],
    ['mill_credit_floor', 'MILL_CREDIT_FLOOR'],
    ['QUERYMILL_CREDIT_FLOOR', 'MILL_CREDIT_FLOOR'],
    ['MIL_CREDIT_FLOOR', 'MILL_CREDIT_FLOOR'],
    ['MILL_TIMEOUT', 'MILL_TIMEOUT_MS'],
    ['MILL_PORT', 'MILL_METRICS_PORT'],
    ['MILL_WEBHOOK_URL', 'MILL_WEBHOOK'],
    ['MILL_DATABASE_URL', 'DATABASE_URL'],
    ['SEARCH_API_BASE_URL', 'SEARCH_API_URL'],
    ['SEARCHAPI_KEY', 'SEARCH_API_KEY'],
    ['SERVICE_PASWORD', 'SERVICE_PASSWORD'],
  ])('%s is recognised as %s', (name, meant) => {
    expect(said({ [name]: '5000' })).toContain(
      `- ${name}: expected the name of a setting, got an unknown name in the environment; did you mean ${meant}?`,
    )
  })

  test('that resembles none refers to the page of all names', () => {
    expect(said({ MILL_QQ: '1' })).toContain('; .env.example lists all settings')
  })

  test('without a value does no harm', () => {
    expect(said({ MILL_CREDT_FLOOR: '' })).toBe('')
  })

  test.each([
    { SERVICE_NAME: 'shop', SERVICE_VERSION: '3', SEARXNG_SECRET: 'x', REDIS_PASSWORD: 'x' },
    { AWS_ENDPOINT_URL_SQS: 'https://sqs.example.com', AWS_REGIONS: 'eu' },
    { DATABASE_URI: 'postgres://other/one', REDIS_URI: 'redis://other', UPSTREAMS: 'a' },
    { SEARCH_API_PORT: 'tcp://10.0.0.9:80', SEARCH_API_SERVICE_HOST: '10.0.0.9' },
    {
      MILL_SERVICE_HOST: '10.0.0.9',
      MILL_SERVICE_PORT_HTTP: '80',
      MILL_PORT_80_TCP_ADDR: '10.0.0.9',
    },
  ])('is not a name that belongs to another program: %j', (env) => {
    expect(said(env)).toBe('')
  })
})

test('is reported to a program that passes it to openMill', () => {
  expect(said({}, { MILL_CREDT_FLOOR: '5000' })).toContain(
    'got an unknown name among the program settings; did you mean MILL_CREDIT_FLOOR?',
  )
})

describe('a misspelt setting in .env', () => {
  // A separate checkout, because the tested one may contain a user's file.
  const checkout = join(temporaryFolder('checkout'), 'querymill')
  beforeAll(() => {
    mkdirSync(checkout)
    // The compiled program starts in a third of the time.
    for (const part of ['dist', 'package.json']) {
      cpSync(join(root, part), join(checkout, part), { recursive: true })
    }
    symlinkSync(join(root, 'node_modules'), join(checkout, 'node_modules'))
  })
  afterAll(() => rmSync(checkout, { recursive: true }))

  const settings = (dotenv: string, env: Record<string, string> = {}) =>
    new Promise<{ code: number; stdout: string; stderr: string }>((done) => {
      writeFileSync(join(checkout, '.env'), dotenv)
      const { PATH, HOME } = processEnvironment()
      const words = ['dist/jobs/status.js', '--settings']
      const where = { cwd: checkout, env: { PATH, HOME, ...env } }
      execFile(process.execPath, words, where, (error, stdout, stderr) => {
        done({ code: Number(error?.code ?? 0), stdout, stderr })
      })
    })

  test('is refused with the intended name, beside one in the environment', async () => {
    expect(await settings('MILL_CREDT_FLOOR=5000\n', { MILL_ZOEN: 'UTC' })).toEqual({
      code: 2,
      stdout: '',
      stderr:
        unusable +
        unknown('MILL_ZOEN', 'in the environment', 'did you mean MILL_ZONE?') +
        unknown('MILL_CREDT_FLOOR', 'in .env', 'did you mean MILL_CREDIT_FLOOR?'),
    })
  })

  test('is refused even if the correct name is used by other programs', async () => {
    const { code, stderr } = await settings('DATABSE_URL=postgres://me:hidden@127.0.0.1/mill\n')
    expect([code, stderr]).toEqual([
      2,
      unusable + unknown('DATABSE_URL', 'in .env', 'did you mean DATABASE_URL?'),
    ])
  })

  test('is detected, whatever text without a value is on the line before', async () => {
    const { code, stdout } = await settings('what follows counts\nMILL_CREDIT_FLOOR=5000\n')
    expect([code, stdout]).toEqual([0, expect.stringMatching(/^MILL_CREDIT_FLOOR +5000 +\.env/m)])
  })

  test.each([
    ['MILL_CREDIT_FLOOR\n'],
    ['MILL_CREDIT_FLOOR: 5000\nMILL_ZONE=UTC\n'],
    ['MILL_ZONE=UTC\nMILL_CREDIT_FLOOR 5000'],
    ['"MILL_CREDIT_FLOOR"=5000\n'],
  ])('on a line that no parser accepts is refused: %j', async (dotenv) => {
    expect(await settings(dotenv)).toMatchObject({
      code: 2,
      stderr: `${unusable}- MILL_CREDIT_FLOOR: expected a .env line with only NAME=value, got other text on that line or on the line above\n`,
    })
  })

  test('is not reported for lines of docker compose, comments, quotes and other programs', async () => {
    const dotenv = [
      '\ufeffMILL_CREDIT_FLOOR=5000',
      '# MILL_CREDT_FLOOR=1',
      'export MILL_ZONE="Europe/Berlin" # here',
      'POSTGRES_PASSWORD=a',
      'REDIS_PASSWORD=b',
      'REDIS_PORT=6380',
      'SEARXNG_SECRET=c',
      'OTHER_PROGRAM=yes',
      "MILL_ACCOUNT='main",
    ].join('\n')
    const { code, stdout, stderr } = await settings(dotenv)
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout).toMatch(/^MILL_CREDIT_FLOOR +5000 +\.env$/m)
    expect(stdout).toMatch(/^MILL_ZONE +Europe\/Berlin +\.env$/m)
    expect(stdout).toMatch(/^MILL_ACCOUNT +'main +\.env$/m)
  })
})
