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

  test('are removed once no line is rejected', async () => {
    await writeFile(join(folder, 'fixed.csv'), 'q\nfoo\n=1+1\n')
    const { files } = await bought('fixed.csv')
    expect(await readFile(files[0] ?? '', 'utf8')).toContain('a formula instead of a query')
    await writeFile(join(folder, 'fixed.csv'), 'q\nfoo\n')
    expect((await bought('fixed.csv')).files).toEqual([null])
    await expect(readFile(files[0] ?? '')).rejects.toThrow('ENOENT')
  })

  test('of standard input are only in the table, which the notice names', async () => {
    const { files, events } = await bought('-', { as: 'piped', text: 'q\nfoo\n=1\n' })
    expect(files).toEqual([null])
    expect(events.at(-1)).toMatch(
      /^1 line of standard input rejected: see the table rejected_lines, run \d+$/,
    )
  })

  test('that cannot be written to a file give a notice that names the table, and the run is queued', async () => {
    const stem = 'n'.repeat(251)
    await writeFile(join(folder, `${stem}.csv`), 'q\nfoo\n=1+1\n')
    const { files, events } = await bought(`${stem}.csv`, { as: 'nowhere' })
    expect(files).toEqual([null])
    expect(events.at(-1)).toMatch(
      /see the table rejected_lines, run \d+, because no file .*\(its name is taken or too long\)/,
    )
    expect(await openTasks('nowhere')).toBe(1)
  })
})
