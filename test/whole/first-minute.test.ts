// @module-tag slow
// An empty machine: the four commands of the README, and the questions that follow.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { run } from '../support/run.ts'

/** The only row that was printed. */
function rowOf(stdout: string): Record<string, unknown> {
  const { rows } = JSON.parse(stdout)
  expect(rows).toHaveLength(1)
  return rows[0]
}

test('after the first commands the questions and the report have rows, marked as those of the sandbox', async () => {
  const home = mkdtempSync(join(tmpdir(), 'querymill-first-'))
  const env = { MILL_HOME: home }
  try {
    expect((await run('enqueue', ['inputs/keywords.csv'], env)).code).toBe(0)
    expect((await run('work', ['--drain'], env)).code).toBe(0)
    const asked = await run('sql', ['nights', '--json'], env)
    expect(rowOf(asked.stdout)).toMatchObject({
      ...{ list: 'keywords', answered: 60, unreadable: 0, other_origin: 0 },
    })
    expect(asked.stderr).toContain('there are no live answers yet')
    expect(asked.stderr).not.toContain('--origins')
    const page = join(home, 'page.html')
    expect((await run('report', ['--to', page], env)).code).toBe(0)
    expect(readFileSync(page, 'utf8')).toContain(
      'Share of voice of the largest and the chosen domains',
    )
    const live = await run('sql', ['nights', '--json', '--origins', 'live'], env)
    expect(rowOf(live.stdout)).toMatchObject({ answered: 0, other_origin: 60 })
  } finally {
    await run('stack', ['stop'], env)
    rmSync(home, { recursive: true, force: true })
  }
})
