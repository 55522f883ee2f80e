import { describe, expect, test, vi } from 'vitest'
import { openPool } from '../../../src/base/database/database.ts'
import { migrateAll } from '../../../src/core/mill.ts'
import { pages } from '../../../src/desk/pages/all.ts'
import { emptyUrl } from '../../support/database.ts'
import { openDesk } from '../../support/desk.ts'
import { patienceMs } from '../../support/patience.ts'
import { deskScene } from '../scene.ts'

const plain = pages.filter(({ path }) => !path.includes(':')).map(({ path }) => path)

const scene = deskScene()

describe('pages', () => {
  test.each(plain)(
    '%s with empty tables shows what would be here and which command to run',
    async (path) => {
      const { status, text } = await scene.desk.get(path)
      expect(status).toBe(200)
      expect(text).toMatch(/class="nothing"[\s\S]*npm run [a-z]+/)
      expect(text).not.toMatch(/\b(undefined|null|NaN|\[object)\b/)
    },
  )

  test.each(plain)('%s accepts ten years, and no invalid day', async (path) => {
    const ten = await scene.desk.get(`${path}?since=2016-01-01&until=2026-01-01&year=2016`)
    expect(ten.status).toBe(200)
    for (const wrong of ['origins=nonsense', `origins=${'x'.repeat(9000)}`]) {
      expect((await scene.desk.get(`${path}?${wrong}`)).status, wrong).toBe(400)
    }
  })

  test('with tables of another release show the command to run, and work once it was run', async () => {
    const url = await emptyUrl()
    const early = await openDesk(url)
    const { status, text } = await early.get('/')
    expect(status).toBe(503)
    expect(text).toContain('npm run migrate')
    expect(text).toContain('http-equiv="refresh"')
    const pool = openPool(url, { name: 'test', max: 2 })
    await migrateAll(pool, url)
    await pool.end()
    await vi.waitFor(async () => expect((await early.get('/')).status).toBe(200), {
      timeout: patienceMs,
    })
    await early.close()
  })
})
