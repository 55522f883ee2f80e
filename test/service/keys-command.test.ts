// @module-tag slow
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { freshUrl } from '../support/database.ts'
import { run } from '../support/run.ts'

let env: Record<string, string>

beforeAll(async () => {
  env = { DATABASE_URL: await freshUrl(), MILL_HOME: mkdtempSync(join(tmpdir(), 'home-')) }
})

async function makeKey(...flags: string[]): Promise<{ id: number; key: string; credits: number }> {
  const { stdout } = await run('keys', ['create', ...flags, '--json'], env)
  return JSON.parse(stdout) as { id: number; key: string; credits: number }
}

describe('the keys command', () => {
  test('creates, lists, revokes and shows usage', async () => {
    const issued = await makeKey('--kind', 'live', '--credits', '42')
    expect(issued).toMatchObject({ kind: 'live', credits: 42 })
    const list = await run('keys', ['list', '--json'], env)
    expect(list.stdout).toContain(`sk_live_…${issued.key.slice(-4)}`)
    expect(list.stdout).not.toContain(issued.key)
    const revoked = await run('keys', ['revoke', issued.key], env)
    expect([revoked.code, revoked.stdout]).toEqual([0, ''])
    const again = await run('keys', ['list'], env)
    expect(again.stdout).toMatch(/\trevoked/)
    const usage = JSON.parse((await run('keys', ['usage', '--json'], env)).stdout) as object
    expect(usage).toHaveProperty('usage')
  })

  test('replaces a key, tops up an account and changes its plan', async () => {
    const issued = await makeKey('--kind', 'live', '--credits', '5')
    const rotated = await run('keys', ['rotate', String(issued.id), '--grace', '7d'], env)
    expect(rotated.stdout).toMatch(/^sk_live_[0-9A-Za-z]{38}\n$/)
    const { keys } = JSON.parse((await run('keys', ['list', '--json'], env)).stdout) as {
      keys: { id: number; account: number }[]
    }
    const account = String(keys.find(({ id }) => id === issued.id)?.account)
    const list = (await run('keys', ['list'], env)).stdout
    expect(list).toMatch(new RegExp(`^${issued.id}\t.*\tvalid until .* UTC$`, 'm'))
    const balance = async (...args: string[]) => (await run('keys', args, env)).stdout
    expect(await balance('top-up', '--account', account, '--credits', '7')).toBe('12 credits\n')
    expect(await balance('plan', '--account', account, '--plan', 'free')).toBe('1000 credits\n')
    for (const wrong of [
      ['rotate'],
      ['rotate', String(issued.id)],
      ['top-up', '--credits', '7'],
      ['top-up', '--account', account],
      ['top-up', '--account', account, '--credits', '7'],
      ['plan', '--account', '9999', '--plan', 'free'],
    ]) {
      expect((await run('keys', wrong, env)).code, wrong.join(' ')).toBe(2)
    }
  })

  test('refuses unknown arguments, without repeating a key', async () => {
    const secret = 'sk_live_0000000000000000000000000000000000notakey'
    const wrong = [
      ['revoke', secret],
      ['revoke'],
      ['destroy'],
      ['list', secret],
      ['create', '--kind', 'x'],
    ]
    for (const args of wrong) {
      const { code, stderr } = await run('keys', args, env)
      expect(code).toBe(2)
      expect(stderr).not.toContain('notakey')
    }
  })

  test.each([
    ['--plan or --credits', '--kind live --plan pro --credits 5'],
    ['--kind live with --plan', '--plan pro'],
    ['--kind live with --credits', '--credits 5'],
    ['--kind live with --rate', '--kind test --rate 5'],
    ['--account or --credits', '--kind live --account 1 --credits 5'],
  ])('issues nothing for contradictory flags, and asks for %s', async (wish, flags) => {
    const before = (await run('keys', ['list'], env)).stdout
    const { code, stdout, stderr } = await run('keys', ['create', ...flags.split(' ')], env)
    expect([code, stdout]).toEqual([2, ''])
    expect(stderr).toContain(`expected ${wish}, got`)
    expect((await run('keys', ['list'], env)).stdout).toBe(before)
  })
})
