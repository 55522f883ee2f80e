import { spawn } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { processEnvironment } from '../../../src/base/config.ts'
import { root } from '../../../src/base/root.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { wordsOf } from '../../support/job.ts'
import { run } from '../../support/run.ts'

const { PATH, HOME } = processEnvironment()
const own = { PATH, HOME }

let database: FreshDatabase
let folder: string

beforeAll(async () => {
  database = await freshDatabase()
  folder = await mkdtemp(join(tmpdir(), 'enqueue-'))
})

afterAll(async () => {
  await database.close()
  await rm(folder, { recursive: true })
})

const environment = (env: Record<string, string> = {}) => ({
  ...own,
  INIT_CWD: folder,
  MILL_HOME: join(folder, 'home'),
  DATABASE_URL: database.url,
  ...env,
})

const enqueue = (args: readonly string[], env: Record<string, string> = {}) =>
  run('enqueue', args, environment(env))

/** In a separate process, which reads stdin or is killed in the middle. */
function enqueueApart(
  args: readonly string[],
  { input = '', killAfterMs }: { input?: string; killAfterMs?: number } = {},
): Promise<{ code: number | null; stdout: string }> {
  const child = spawn(process.execPath, [...wordsOf('enqueue'), ...args], {
    cwd: root,
    env: environment(),
  })
  let stdout = ''
  child.stdout.on('data', (piece: Buffer) => (stdout += piece.toString()))
  child.stderr.resume()
  child.stdin.on('error', () => undefined)
  child.stdin.end(input)
  if (killAfterMs !== undefined) setTimeout(() => child.kill('SIGKILL'), killAfterMs)
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, stdout })))
}

async function lists(): Promise<readonly string[]> {
  const found = await database.pool.query<{ name: string }>('select name from lists')
  return found.rows.map(({ name }) => name)
}

const live = { SEARCH_API_URL: 'http://127.0.0.1:9', SEARCH_API_KEY: 'sk_live_sample_not_a_key' }

describe('npm run enqueue', () => {
  test('of a list whose run still has open tasks says that nothing is added, and to continue working', async () => {
    await writeFile(join(folder, 'twice.txt'), 'q\ntwice a\ntwice b\n')
    await enqueue(['twice.txt'])
    const { code, stdout } = await enqueue(['twice.txt'])
    expect(code).toBe(0)
    expect(stdout).toContain('2: 0 to send, 0 reused from recent answers, 2 already in the run')
    expect(stdout).toMatch(/^cost +no additional credits, because no queries are added$/m)
    expect(stdout).toMatch(/^next +npm run work -- --drain$/m)
  })

  test('reads a list, queues it, and reports it as one object; a second time, it adds nothing', async () => {
    await writeFile(
      join(folder, 'shoes.csv'),
      'q,num\nred shoes,10\nblue shoes,\nred  shoes,10\nbad,0\n',
    )
    const first = await enqueue(['shoes.csv', '--json'])
    expect(first.code).toBe(0)
    const said: unknown = JSON.parse(first.stdout)
    expect(said).toMatchObject({
      list: 'shoes',
      rows: 4,
      accepted: 2,
      duplicates: 1,
      rejected: 1,
      tasks: 2,
      queued: 2,
      reused: 0,
      already: 0,
      estimate: { credits: null, worst: null, basis: 'unknown' },
      runs: [{ list: 'shoes', rows: 4, rejected_file: join(folder, 'shoes.rejected.csv') }],
    })
    expect(await readFile(join(folder, 'shoes.rejected.csv'), 'utf8')).toBe(
      'line,reason,content\n5,num is not a whole number from 1 to 100,"bad,0"\n',
    )
    const second = await enqueue(['shoes.csv', 'shoes.rejected.csv', '--json'])
    expect(JSON.parse(second.stdout)).toMatchObject({ tasks: 2, queued: 0, already: 2 })
  })

  test('killed at any moment and started again creates each task once', async () => {
    const words = Array.from({ length: 3000 }, (_, index) => `killed ${index}`).join('\n')
    await writeFile(join(folder, 'killed.txt'), `${words}\n`)
    for (const afterMs of [400, 900, 1400]) {
      await enqueueApart(['killed.txt'], { killAfterMs: afterMs })
    }
    const { code, stdout } = await enqueue(['killed.txt', '--json'])
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ tasks: 3000, rows: 3000 })
    const { rows } = await database.pool.query<{ tasks: number; runs: number; slices: number }>(
      `select count(*) as tasks, count(distinct run_id) as runs, count(distinct slice) as slices
       from tasks
       join queries on queries.id = query_id
       where q like 'killed %'`,
    )
    expect(rows).toEqual([{ tasks: 3000, runs: 1, slices: 120 }])
  })

  test('reads standard input, and shows a dry run without writing anything', async () => {
    const { code, stdout } = await enqueueApart(
      ['-', '--as', 'piped', '--dry-run', '--device', 'desktop,mobile'],
      { input: 'a\nb\n' },
    )
    expect(code).toBe(0)
    expect(stdout).toContain('4 to send')
    expect(stdout).toContain('device desktop | mobile')
    expect(await lists()).not.toContain('piped')
  })

  test('buys a long list with a live key only after confirmation', async () => {
    const long = Array.from({ length: 600 }, (_, index) => `word ${index}`).join('\n')
    await writeFile(join(folder, 'long.txt'), `${long}\n`)
    const refused = await enqueue(['long.txt'], live)
    expect(refused).toMatchObject({ code: 2 })
    expect(refused.stderr).toContain('expected --yes for a purchase of 600 calls')
    expect(await lists()).not.toContain('long')
    const bought = await enqueue(['long.txt', '--yes', '--json'], live)
    expect(JSON.parse(bought.stdout)).toMatchObject({ queued: 600 })
  })

  test.each([
    [['missing.csv'], 'expected missing.csv to be a readable file'],
    [['.'], 'got a folder'],
    [['countries.csv'], 'expected a query column'],
    [['shoes.csv', '--num', '500'], 'expected a valid value for --num'],
    [['shoes.csv', '--max-age', 'soon'], 'expected --max-age to be a duration'],
    [['shoes.csv', '--max-age', '3000000d'], 'at most 36500d, got "3000000d"'],
    [['shoes.csv', '--budget', 'much'], 'expected --budget to be a whole number'],
    [['shoes.csv', '--dryrun'], 'unknown option'],
    [[], 'missing required argument'],
  ])('refuses %j with one sentence and exit code 2', async (args, sentence) => {
    await writeFile(join(folder, 'countries.csv'), 'Country,Clicks\nFrance,3\nSpain,4\n')
    const { code, stdout, stderr } = await enqueue(args)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(sentence)
    expect(stderr).not.toMatch(/^\s+at /m)
  })

  test('refuses all files if one of them cannot be used', async () => {
    await writeFile(join(folder, 'good.csv'), 'q\nfine\n')
    await writeFile(join(folder, 'useless.csv'), 'q,num\nbad,0\n')
    const { code, stderr } = await enqueue(['good.csv', 'useless.csv'])
    expect(code).toBe(2)
    expect(stderr).toContain('expected at least one usable line in useless.csv')
    expect(await lists()).not.toContain('good')
  })

  test('with an unreachable database says so and exits with 5', async () => {
    await writeFile(join(folder, 'down.csv'), 'q\nfine\n')
    const url = 'postgres://nobody@127.0.0.1:9/none'
    const { code, stderr } = await enqueue(['down.csv'], { DATABASE_URL: url })
    expect(code).toBe(5)
    expect(stderr.trim().split('\n')).toHaveLength(1)
  })

  test('leaves no draft of its files behind', async () => {
    const names = await readdir(folder)
    expect(names.filter((name) => name.startsWith('.'))).toEqual([])
  })
})
