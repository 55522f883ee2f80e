import { createRoute, type OpenAPIHono } from '@hono/zod-openapi'
import type pg from 'pg'
import { askForKey, type DoorEnv } from './door.ts'
import type { FoundKey, KeyRing } from './keyring.ts'
import { usageAnswers } from './openapi.ts'
import { renewalIsDue } from './plans.ts'
import type { Turnstile } from './rate.ts'
import { refuseParams } from './refusal.ts'
import { keyHeaders, secureHeaders } from './reply.ts'
import { readDays } from './days.ts'
import { usageParams, usageResponse, type UsageResponse } from './usage-schema.ts'

export interface UsageParts {
  readonly pool: pg.Pool
  readonly keys: KeyRing
  readonly turnstile: Turnstile
}

const usualDays = 30

/** GET /v1/usage: what a customer would otherwise have to add up from the answers. Costs nothing. */
export function addUsage(app: OpenAPIHono<DoorEnv>, parts: UsageParts): void {
  const route = createRoute({
    method: 'get',
    path: '/v1/usage',
    operationId: 'usage',
    summary: 'What the account of the key used',
    security: [{ bearer: [] }, { parameter: [] }],
    middleware: [askForKey(parts.keys)] as const,
    request: { query: usageParams },
    responses: usageAnswers,
  })
  app.openapi(
    route,
    async (c) => {
      const key = c.get('key')
      const rate = await parts.turnstile.pass(key)
      c.set('rate', rate)
      const days = c.req.valid('query').days ?? usualDays
      const limit = Number(rate['x-ratelimit-limit'])
      const body = await readAccount(parts.pool, key, { days, limit })
      return c.json(body, 200, { ...keyHeaders(c), ...secureHeaders })
    },
    refuseParams,
  )
}

interface AccountRow {
  readonly plan: string
  readonly quota: number
  readonly used: number
}

async function readAccount(
  pool: pg.Pool,
  key: FoundKey,
  { days, limit }: { days: number; limit: number },
): Promise<UsageResponse> {
  const [account, used] = await Promise.all([
    pool.query<AccountRow>(
      `select plan, quota, case when ${renewalIsDue} then 0 else used end as used from accounts where id = $1`,
      [key.accountId],
    ),
    readDays(pool, { days, account: key.accountId }),
  ])
  const { plan, quota, used: credits } = account.rows[0] ?? { plan: '', quota: 0, used: 0 }
  return usageResponse.parse({
    success: true,
    plan,
    credits_quota: quota,
    credits_used: credits,
    credits_remaining: quota - credits,
    renews_at: key.renewsAt?.toISOString() ?? null,
    rate_limit: limit,
    days: used.map(({ day, key: shown, requests, failures, credits: charged }) => ({
      day,
      key: shown,
      requests,
      failures,
      credits: charged,
    })),
  })
}
