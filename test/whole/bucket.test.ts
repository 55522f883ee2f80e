// @module-tag slow
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Environment } from '../../src/base/config.ts'
import { finishDays } from '../../src/core/nights/finish.ts'
import { makePast, readTables } from '../support/archive.ts'
import { startBuckets, type BucketServer } from '../support/bucket.ts'
import { freshDatabase, type FreshDatabase } from '../support/database.ts'
import { runProcess as run, start } from '../support/run.ts'
import { temporaryFolder } from '../support/place.ts'

let database: FreshDatabase
let buckets: BucketServer
let home: string
let env: Environment
beforeEach(async () => {
  database = await freshDatabase()
  buckets = await startBuckets()
  home = temporaryFolder('bucket')
  const passing = join(home, 'passing')
  mkdirSync(passing)
  env = { DATABASE_URL: database.url, MILL_HOME: home, TMPDIR: passing, ...buckets.env }
})
afterEach(async () => {
  await buckets.close()
  await database.close()
  rmSync(home, { recursive: true, force: true })
})

const older = ['--yes', '--older', '30d', '--to']
const question =
  'select run_date, q, position, domain, title from analysis.results order by 1, 2, 3, 5'

/** Files that are not in the bucket yet. */
function drafts(): readonly string[] {
  const names = readdirSync(join(home, 'archive'), { recursive: true, encoding: 'utf8' })
  return names.filter((name) => name.endsWith('.part'))
}

/** What of an archive lies on this machine. */
function lying(): readonly string[] {
  const passing = readdirSync(join(home, 'passing')).filter((name) => name.startsWith('querymill'))
  return existsSync(join(home, 'archive'))
    ? [...passing, ...readdirSync(join(home, 'archive'))]
    : passing
}

test('an archive that is killed while it puts a file goes on when it is typed again, a second one meanwhile is refused, and a question reads the bucket and leaves nothing here', async () => {
  await makePast(database, 'killed', 3)
  await finishDays(database.db)
  const before = await readTables(database.pool)
  const asked = (await run('sql', [question, '--json'], env)).stdout
  const to = [...older, `${buckets.address}/history/`]

  const held = new Promise<void>((holds) => {
    buckets.meet = ({ method, name }) => {
      if (method !== 'PUT' || !/2025-01-02\/.*parquet$/.test(name)) return undefined
      holds()
      return new Promise(() => undefined)
    }
  })
  const first = start('archive', to, env)
  await held
  const second = await run('archive', to, env)
  expect(second).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('got another npm run archive') as string,
  })
  first.kill('SIGKILL')
  await first.ended
  expect(drafts()).not.toEqual([])
  expect(lying().filter((name) => name.startsWith('querymill'))).toHaveLength(1)
  let found: readonly string[] | undefined
  buckets.meet = () => {
    found ??= drafts()
    return undefined
  }

  const ended = await run('archive', to, env)
  expect(ended).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('rows are in s3://kept/history,') as string,
  })
  expect(found).toEqual([])
  expect((await readTables(database.pool))['organic_results']).toEqual([])
  expect(await run('archive', ['--check', '--json'], env)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('"unknown": []') as string,
  })
  expect((await run('sql', ['--with-archive', question, '--json'], env)).stdout).toBe(asked)
  const moved = ['--archive', `${buckets.address}/history`, question, '--json']
  expect((await run('sql', ['--with-archive', ...moved], env)).stdout).toBe(asked)
  expect((await run('archive', ['--back', '2025-01-01..2025-01-03', '--yes'], env)).code).toBe(0)
  expect(await readTables(database.pool)).toEqual(before)
  // What the killed one left was cleared away, and nobody else left anything.
  expect(lying()).toEqual([])
  expect(buckets.names()).toEqual(['history/archive.json'])
})

interface Refused {
  readonly what: string
  readonly to?: string
  readonly settings?: Environment
  readonly code: number
  readonly said: string
}
/** Node as it is where nobody installed the client of buckets. */
function without(library: string): Environment {
  const hook = `export async function resolve(name, context, next) {
    if (name !== '${library}') return next(name, context)
    throw Object.assign(new Error('gone'), { code: 'ERR_MODULE_NOT_FOUND' })
  }`
  const text = `import { register } from 'node:module'; register('data:text/javascript,${encodeURIComponent(hook).replaceAll("'", '%27')}')`
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(text)}` }
}

const nowhere = 'http://127.0.0.1:1'
const wrong = { AWS_ENDPOINT_URL_S3: '', AWS_ENDPOINT_URL: 'kept:x' }
const refused: readonly Refused[] = [
  {
    what: 'a key that is not known',
    settings: { AWS_ACCESS_KEY_ID: 'NOBODY' },
    code: 5,
    said: 'got InvalidAccessKeyId (403)',
  },
  {
    what: 'a secret that is another',
    settings: { AWS_SECRET_ACCESS_KEY: 'x' },
    code: 5,
    said: 'got SignatureDoesNotMatch (403)',
  },
  {
    what: 'a server that is not there',
    settings: { AWS_ENDPOINT_URL_S3: nowhere },
    code: 5,
    said: 'got ECONNREFUSED',
  },
  {
    what: 'half a key',
    settings: { AWS_SECRET_ACCESS_KEY: '' },
    code: 2,
    said: 'AWS_SECRET_ACCESS_KEY: expected a value',
  },
  { what: 'no address', settings: wrong, code: 2, said: 'AWS_ENDPOINT_URL: expected an address' },
  {
    what: 'no client of buckets',
    settings: without('@aws-sdk/client-s3'),
    code: 2,
    said: 'run: npm install @aws-sdk/client-s3',
  },
  { what: 'no such bucket', to: 's3://another/x', code: 5, said: 'got NoSuchBucket (404)' },
  { what: 'no kind of place', to: 'gs://kept/x', code: 2, said: 'got "gs://kept/x"' },
]

test.each(refused)(
  '$what is told with what to do, and nothing leaves',
  async ({ to = buckets.address, settings = {}, code, said }) => {
    await makePast(database, 'refused', 1)
    const before = await readTables(database.pool)
    const ended = await run('archive', [...older, to], { ...env, ...settings })
    expect(ended.stderr).toContain(said)
    expect(ended.stderr).toMatch(/; (?:check|set|create|leave|nothing|run)|like s3:/)
    expect(ended.code).toBe(code)
    expect(await readTables(database.pool)).toEqual(before)
    expect(lying()).toEqual([])
  },
)
