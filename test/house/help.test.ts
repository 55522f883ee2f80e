import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { processEnvironment } from '../../src/base/config.ts'
import { root } from '../../src/base/root.ts'
import { run } from '../support/run.ts'
import { jobsOf } from './papers.ts'
import { readTree } from './tree.ts'
import { z } from 'zod'

const manifest = z
  .looseObject({ scripts: z.record(z.string(), z.string()) })
  .parse(JSON.parse(readTree(['.'], ['package.json']).get('package.json') ?? ''))
const jobs = [...jobsOf(manifest.scripts)].filter(
  ([, file]) => file.startsWith('jobs/') && existsSync(join(root, file)),
)

const jobOf = (file: string) => basename(file, '.ts')

const home = mkdtempSync(join(tmpdir(), 'querymill-help-'))
afterAll(() => rmSync(home, { recursive: true, force: true }))

/** An environment in which everything that is started fails, so that nothing is started unnoticed. */
const env = {
  PATH: processEnvironment()['PATH'],
  HOME: home,
  MILL_HOME: join(home, 'mill'),
  DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nothing',
  REDIS_URL: 'redis://127.0.0.1:1',
}

describe('help', () => {
  test.each(jobs)(
    '%s prints its description with examples, and starts nothing',
    async (name, file) => {
      const { stdout, stderr } = await run(jobOf(file), ['--help'], env)
      expect(stdout).toContain(`Usage: npm run ${name} --`)
      expect(stdout).toContain('Examples:')
      expect(stderr).toBe('')
      expect(readdirSync(home).filter((entry) => entry === 'mill')).toEqual([])
    },
  )

  test.each(jobs)('%s refuses an unknown flag, with exit code 2', async (_, file) => {
    expect(await run(jobOf(file), ['--no-such-flag'], env)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('--no-such-flag'),
    })
  })

  // Required arguments of some commands.
  const needed: Readonly<Record<string, readonly string[]>> = {
    corpus: ['load'],
    enqueue: ['inputs/keywords.csv'],
    keys: ['list'],
    stack: ['status'],
  }

  test.each(jobs)('%s refuses an unknown setting, with exit code 2', async (name, file) => {
    const misspelt = { ...env, MILL_CREDT_FLOOR: '5000' }
    expect(await run(jobOf(file), needed[name] ?? [], misspelt)).toMatchObject({
      code: 2,
      stdout: '',
      stderr: expect.stringContaining('did you mean MILL_CREDIT_FLOOR?'),
    })
    expect(readdirSync(home).filter((entry) => entry === 'mill')).toEqual([])
  })
})
