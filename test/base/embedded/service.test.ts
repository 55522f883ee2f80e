// @module-tag slow
import { execFile } from 'node:child_process'
import { readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { ensureService, serviceStatus, stopService } from '../../../src/base/embedded/service.ts'
import { root } from '../../../src/base/root.ts'
import { freshUrl, stockedUrl } from '../../support/database.ts'
import { compiledFrom } from '../../support/job.ts'
import { temporaryFolder } from '../../support/place.ts'
import { run } from '../../support/run.ts'

const homes: string[] = []
afterEach(async () => {
  for (const home of homes.splice(0)) {
    await stopService(home)
    rmSync(home, { recursive: true, force: true })
  }
})

function newHome(): string {
  const home = temporaryFolder('service')
  homes.push(home)
  return home
}

async function search({ url, key }: Awaited<ReturnType<typeof ensureService>>): Promise<number> {
  const headers = { authorization: `Bearer ${key.reveal()}` }
  return (await fetch(new URL('/v1/search?q=garden', url), { headers })).status
}

function pidOf(home: string): number {
  const state: unknown = JSON.parse(readFileSync(join(home, 'service.json'), 'utf8'))
  return z.object({ pid: z.number() }).parse(state).pid
}

describe('the bundled service of a home', () => {
  test('starts on first use, with a live key that only its user can read', async () => {
    const home = newHome()
    const service = await ensureService({ home, databaseUrl: await freshUrl() })
    expect(await search(service)).toBe(200)
    expect(service.url.hostname).toBe('127.0.0.1')
    expect(statSync(join(home, 'service.key')).mode & 0o777).toBe(0o600)
    expect(await serviceStatus(home)).toEqual({ running: true, url: service.url.origin })
  })

  test('is shared by two concurrent commands, and by later ones', async () => {
    const options = { home: newHome(), databaseUrl: await stockedUrl() }
    const [one, other] = await Promise.all([ensureService(options), ensureService(options)])
    const later = await ensureService(options)
    expect([other?.url.href, later.url.href]).toEqual([one?.url.href, one?.url.href])
    expect([other?.key.reveal(), later.key.reveal()]).toEqual([
      one?.key.reveal(),
      one?.key.reveal(),
    ])
  })

  test('comes back on its port and with its key after it was killed', async () => {
    const options = { home: newHome(), databaseUrl: await stockedUrl() }
    const first = await ensureService(options)
    let second = first
    // Another process may be given the port while it is free, so one of several attempts has to succeed.
    for (let death = 1; death <= 4; death += 1) {
      const before = second.url.href
      process.kill(pidOf(options.home), 'SIGKILL')
      await expect.poll(async () => (await serviceStatus(options.home)).running).toBe(false)
      second = await ensureService(options)
      if (second.url.href === before) break
      expect(death).toBeLessThan(4)
    }
    expect(second.key.reveal()).toBe(first.key.reveal())
    expect(await search(second)).toBe(200)
  })

  test('moves to another database, with a key that is valid there', async () => {
    const home = newHome()
    const first = await ensureService({ home, databaseUrl: await stockedUrl() })
    const second = await ensureService({ home, databaseUrl: await stockedUrl() })
    expect(second.key.reveal()).not.toBe(first.key.reveal())
    expect(await search(second)).toBe(200)
  })

  test('outlives a command that only requests it, and delays none of them', async () => {
    const home = newHome()
    const script = compiledFrom('test/base/embedded/move.ts')
    const databases = [await stockedUrl(), await stockedUrl()]
    const words = [script, home, ...databases]
    const { stdout } = await promisify(execFile)(process.execPath, words, { cwd: root })
    expect(stdout.trim().split('\n')).toHaveLength(2)
    expect((await serviceStatus(home)).running).toBe(true)
  })

  test('ends with the stack, and ends only once', async () => {
    const home = newHome()
    const service = await ensureService({ home, databaseUrl: await stockedUrl() })
    expect((await run('stack', ['stop', '--json'], { MILL_HOME: home })).code).toBe(0)
    await expect(search(service)).rejects.toThrow(/fetch failed/)
    expect(await serviceStatus(home)).toEqual({ running: false, url: null })
    expect(await stopService(home)).toBe(false)
  })

  test('says in one line why it cannot start', async () => {
    const away = 'postgres://nobody:none@127.0.0.1:1/none'
    const failed = ensureService({ home: newHome(), databaseUrl: away })
    await expect(failed).rejects.toThrow(/bundled search service.*ECONNREFUSED/)
  })
})
