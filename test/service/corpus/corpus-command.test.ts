// @module-tag slow
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { beforeAll, describe, expect, test } from 'vitest'
import { freshUrl } from '../../support/database.ts'
import { run } from '../../support/run.ts'

let env: Record<string, string>

beforeAll(async () => {
  env = { DATABASE_URL: await freshUrl(), MILL_HOME: mkdtempSync(join(tmpdir(), 'home-')) }
})

describe('the corpus command', () => {
  test('adds pages and reports how many lines it left out', async () => {
    const file = join(mkdtempSync(join(tmpdir(), 'pages-')), 'pages.jsonl')
    writeFileSync(file, '{"url":"https://a.example/","title":"A"}\nnot a page\n')
    const { code, stdout, stderr } = await run('corpus', ['add', file, '--json'], env)
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toMatchObject({ added: 1, rejected: 1 })
    expect(stderr).toContain(`${file}:2: `)
  })

  test('names a missing file, and adds nothing of the others', async () => {
    await run('corpus', ['load'], env)
    const folder = mkdtempSync(join(tmpdir(), 'pages-'))
    writeFileSync(join(folder, 'pages.jsonl'), '{"url":"https://early.example/","title":"E"}\n')
    const there = { ...env, INIT_CWD: folder }
    const { code, stderr } = await run('corpus', ['add', 'pages.jsonl', 'missing.jsonl'], there)
    expect(stderr).toBe(
      'error: expected missing.jsonl to be a readable file, got a path that does not exist; check the path\n',
    )
    expect(code).toBe(2)
    const pool = new pg.Pool({ connectionString: env['DATABASE_URL'], max: 1 })
    const { rows } = await pool.query(
      "select from service.documents where url = 'https://early.example/'",
    )
    await pool.end()
    expect(rows).toEqual([])
  })

  test('refuses an unknown action', async () => {
    const { code, stderr } = await run('corpus', ['build'], env)
    expect([code, stderr]).toEqual([2, 'error: expected load or add, got build\n'])
  })
})
