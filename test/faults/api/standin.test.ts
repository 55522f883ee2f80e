// @module-tag slow
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { get } from '../../service/get.ts'
import { run, type Running, start } from '../../support/run.ts'

async function ready(standIn: Running) {
  return JSON.parse(await standIn.line('{"url"')) as { url: string; key: string; admin: string }
}

describe('the stand-in command', () => {
  test.each([
    [['--faults', '{"nonsense":1}']],
    [['--faults', 'nowhere.json']],
    [['--faults', '{}', '--canned']],
    [[]],
  ])('with %j exits with 2 and says what is expected', async (flags) => {
    const { code, stderr } = await run('stand-in', flags)
    expect(code).toBe(2)
    expect(stderr).toMatch(/expected/)
  })

  test('refuses to let a stand-in listen beyond this machine', async () => {
    const { code, stderr } = await run('stand-in', ['--faults', '{}', '--host', '0.0.0.0'])
    expect(code).toBe(2)
    expect(stderr).toContain('expected --host to be this machine')
  })

  test('reads faults from a file and prints the key and the operator’s port', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'faults-')), 'faults.json')
    writeFileSync(file, JSON.stringify({ credits: 3, faults: [{ kind: 'status', status: 503 }] }))
    const standIn = start('stand-in', ['--faults', file])
    const { url, key, admin } = await ready(standIn)
    const answer = await get(`${url}/v1/search?q=tea`, { authorization: `Bearer ${key}` })
    expect(answer.status).toBe(503)
    expect(JSON.parse(String((await get(`${admin}/balance`)).body))).toEqual({
      balance: 3,
      least: 3,
      charged: 0,
    })
    standIn.kill('SIGTERM')
    await standIn.ended
  })
})
