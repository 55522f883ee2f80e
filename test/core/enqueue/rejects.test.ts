import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { enqueue } from '../../../src/core/enqueue/enqueue.ts'
import { openIntake } from '../../../src/core/enqueue/flags.ts'
import type { EnqueueReport } from '../../../src/core/enqueue/result.ts'
import { type TestMill, testMill } from '../../support/mill.ts'

let mill: TestMill
let folder: string

beforeAll(async () => {
  mill = await testMill({ api: { url: 'http://127.0.0.1:9', key: 'sk_test_sample_not_a_key' } })
  folder = await mkdtemp(join(tmpdir(), 'enqueue-'))
})

afterAll(async () => {
  await mill.close()
  await rm(folder, { recursive: true })
})

/** Enqueues a list, and records the order of messages and of queued slices. */
async function bought(
  arg: string,
  { as, text = '' }: { as?: string; text?: string } = {},
): Promise<{ files: readonly (string | null)[]; events: readonly string[] }> {
  const flags = as === undefined ? {} : { as }
  const env = { ...mill.env, INIT_CWD: folder }
  const stream = once(text)
  const intake = await openIntake({ args: [arg], flags, env, config: mill.config, stream })
  const events: string[] = []
  const talk = {
    say: (line: string) => void events.push(line),
    show: () => undefined,
    progress: (step: string) => void events.push(step.split(' ')[0] ?? ''),
    ask: null,
  }
  const report = await enqueue({ mill, intake, flags, prompts: talk })
  return { files: filesOf(report), events }
}

function filesOf(report: EnqueueReport | null): readonly (string | null)[] {
  const files = (report?.runs ?? []).map((run) => ('rejected_file' in run ? run.rejected_file : 0))
  return files.map((file) => (typeof file === 'string' ? file : null))
}

async function* once(text: string) {
  yield Buffer.from(text)
}

async function openTasks(list: string): Promise<number> {
  const { rows } = await sql<{ tasks: number }>`
    select count(*) as tasks
    from tasks
    join runs on runs.id = run_id
    join lists on lists.id = list_id
    where name = ${list}`.execute(mill.db)
  return rows[0]?.tasks ?? 0
}

describe('the rejected lines of a purchase', () => {
  test('are written after its run is queued', async () => {
    await writeFile(join(folder, 'order.csv'), 'q\nfoo\n=1+1\n')
    const { events } = await bought('order.csv')
    const said = events.findIndex((line) => line.includes('1 line of order.csv rejected: see'))
    expect(said).toBeGreaterThan(events.lastIndexOf('queueing'))
    expect(events).toContain('queueing')
  })

  test('of a list with a name of maximum length are beside it', async () => {
    const stem = 'n'.repeat(251)
    await writeFile(join(folder, `${stem}.csv`), 'q\nfoo\n=1+1\n')
    const { files } = await bought(`${stem}.csv`)
    expect(await readFile(files[0] ?? '', 'utf8')).toContain('a formula instead of a query')
    expect(files[0]).toContain(join(folder, 'nnn'))
  })

  test('of two lists from standard input are in two files, which are removed once no line is rejected', async () => {
    const one = await bought('-', { as: 's1', text: 'q\nfoo\n=1\n' })
    const two = await bought('-', { as: 's2', text: 'q\nfoo\n=2\n' })
    expect(await readFile(one.files[0] ?? '', 'utf8')).toContain('=1')
    expect(await readFile(two.files[0] ?? '', 'utf8')).toContain('=2')
    const again = await bought('-', { as: 's1', text: 'q\nfoo\n' })
    expect(again.files).toEqual([null])
    await expect(readFile(one.files[0] ?? '')).rejects.toThrow('ENOENT')
  })

  test('that cannot be written to a file give a notice that names the table, and the run is queued', async () => {
    await rm(join(mill.config.home, 'rejected'), { recursive: true, force: true })
    await writeFile(join(mill.config.home, 'rejected'), 'a file where a folder ought to be')
    const { files, events } = await bought('-', { as: 'nowhere', text: 'q\nfoo\n=1\n' })
    expect(files).toEqual([null])
    expect(events.at(-1)).toMatch(
      /see the table rejected_lines, run \d+, because no file .*\(EEXIST\)/,
    )
    expect(await openTasks('nowhere')).toBe(1)
  })
})
