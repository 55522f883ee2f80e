import { describe, expect, test } from 'vitest'
import { run } from '../../support/run.ts'
import { openScene } from '../../support/scene.ts'

describe('doctor', () => {
  test('finds no problem with a ready database, and names the servers', async () => {
    const { mill } = await openScene()
    const { code, stdout } = await run('doctor', ['--json'], mill.env)
    const { ok, checks } = JSON.parse(stdout) as {
      ok: boolean
      checks: { check: string; ok: boolean; said: string }[]
    }
    expect([code, ok, checks.filter((one) => !one.ok)]).toEqual([0, true, []])
    expect(checks.map(({ check }) => check)).toEqual(
      // prettier-ignore
      ['node', 'settings', 'disk', 'database', 'queue', 'schedules', 'api', 'webhook'],
    )
    expect(checks[3]?.said).toMatch(/^PostgreSQL \d+ at DATABASE_URL; its tables are up to date$/)
  })

  test('says which server is unreachable and continues with the other checks', async () => {
    const { mill } = await openScene()
    const DATABASE_URL = 'postgres://nobody:secret@127.0.0.1:1/nothing'
    const { code, stdout } = await run('doctor', [], { ...mill.env, DATABASE_URL })
    expect(code).toBe(1)
    expect(stdout).toMatch(/^FAIL {2}database {3}expected a PostgreSQL server at DATABASE_URL/m)
    expect(stdout).toMatch(/^ok {4}webhook/m)
    expect(stdout).not.toContain('secret')
  })

  test('says why the API does not respond', async () => {
    const { mill } = await openScene()
    // 6000 is a port that web requests must not use.
    const SEARCH_API_URL = 'http://127.0.0.1:6000'
    const { code, stdout } = await run('doctor', [], { ...mill.env, SEARCH_API_URL })
    expect(code).toBe(1)
    expect(stdout).toMatch(
      /^FAIL {2}api {8}expected 127\.0\.0\.1:6000 to respond, got bad port; check SEARCH_API_URL$/m,
    )
  })
})
