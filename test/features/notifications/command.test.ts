import { sql } from 'kysely'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { recordNotices } from '../../../src/features/notifications/news.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { run } from '../../support/run.ts'
import { openReceiver, type Receiver } from './receiver.ts'

let receiver: Receiver

beforeEach(async () => {
  receiver = await openReceiver()
})

afterEach(() => receiver.close().catch(() => undefined))

describe('the webhook test command', () => {
  const secret = 'a-secret-for-tests-only-of-40-characters'

  test('sends one signed notice without a database, and prints the response', async () => {
    const settings = { MILL_WEBHOOK: receiver.url.href, MILL_WEBHOOK_SECRET: secret }
    const { code, stderr } = await run('notify', ['--test'], settings)
    expect({ code, stderr }).toEqual({
      code: 0,
      stderr: expect.stringMatching(
        /^sent notice [\da-f-]{36} as json, signed; the receiver answered 200: thanks\n$/,
      ),
    })
    expect(receiver.bodies()).toMatchObject([{ event: 'test' }])
    expect(receiver.got[0]?.headers['webhook-signature']).toMatch(/^v1,[A-Za-z0-9+/]{43}=$/)
  })

  test('exits with 5 if the receiver refuses, and prints its response, but neither address nor secret', async () => {
    receiver.statuses = [403]
    const settings = { MILL_WEBHOOK: receiver.url.href, MILL_WEBHOOK_SECRET: secret }
    const { code, stdout, stderr } = await run('notify', ['--test', '--json'], settings)
    expect(code).toBe(5)
    expect(JSON.parse(stdout)).toMatchObject({ taken: false, status: 403, said: 'thanks' })
    expect(stderr).toContain('got status 403')
    expect(stdout + stderr).not.toMatch(/secret-path|a-secret-for/)
  })

  test('exits with 5 if there is no response, and with 2 without an address', async () => {
    await receiver.close()
    const away = await run('notify', ['--test'], { MILL_WEBHOOK: receiver.url.href })
    expect(away.stderr).toContain('expected the webhook to respond, got ECONNREFUSED')
    expect(away.code).toBe(5)
    expect((await run('notify', ['--test'])).code).toBe(2)
  })
})

describe('the list of notices', () => {
  let database: FreshDatabase

  beforeEach(async () => {
    database = await freshDatabase()
  })

  afterEach(() => database.close())

  test('shows the newest first, with the state of each and why it waits', async () => {
    await sql`
      with account as (
        insert into accounts (name, kind) values ('api.example.com', 'live') returning id
      )
      insert into stops (account_id, reason, cleared_at)
      select id, reason, now() from account, unnest(array['auth', 'budget', 'credit_floor']) as reason`.execute(
      database.db,
    )
    await recordNotices(database.db, { webhook: receiver.webhook(), unattendedMs: 0 })
    await sql`
      update notices
      set
        told_at = case when said ~ 'auth' then now() end,
        given_up_at = case when said ~ 'budget' then now() end,
        noted_at = now() - case when said ~ 'floor' then interval '0' else interval '1 hour' end,
        tries = 3, problem = 'got status 500'`.execute(database.db)
    const env = { DATABASE_URL: database.url }
    const { code, stdout, stderr } = await run('notify', [], env)
    expect(code).toBe(0)
    const [, first = ''] = stdout.split('\n')
    expect(first).toMatch(/waiting \(got status 500\) +3 +stop +querymill: account .*credit_floor/)
    expect(stdout).toMatch(/given up \(got status 500\) .*budget/)
    expect(stdout).toMatch(/told +3 +stop .*auth/)
    expect(stderr).toContain('MILL_WEBHOOK is not set, so no notices are sent')
    const two = await run('notify', ['--json', '--limit', '2'], env)
    expect(JSON.parse(two.stdout).notices).toHaveLength(2)
  })
})
