// A proxy for demos in front of a search service. The proxy injects faults, and keeps its own balance.

import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { z } from 'zod'
import { fraction } from '../../base/random.ts'

/** Faults that last for a whole night. This proxy ignores `nobody` (a night without workers). */
type NightFault = 'empty' | 'shallow' | 'failing' | 'nobody' | 'html' | 'dear'

const body = z.looseObject({ organic_results: z.array(z.unknown()) })
const documentation = 'https://docs.example.com/errors'
const error = { code: 'INVALID_REQUEST', message: 'A fault on purpose', documentation }
const depths: Partial<Record<NightFault, number>> = { empty: 0, shallow: 0.1 }

export async function openFront(behind: string, credits: number) {
  let fault: NightFault | null = null
  let balance = credits
  const app = new Hono()
  app.get('*', async (c) => {
    const { pathname, search, searchParams } = new URL(c.req.url)
    const query = searchParams.get('q') ?? ''
    if (fault === 'failing' && fraction(`failing ${query}`) < 0.4) {
      return c.json({ success: false, error }, 422)
    }
    const authorization = c.req.header('authorization') ?? ''
    const found = await fetch(new URL(pathname + search, behind), { headers: { authorization } })
    const text = await found.text()
    if (found.status !== 200) {
      return new Response(text, {
        status: found.status,
        headers: { 'content-type': 'application/json' },
      })
    }
    const used = fault === 'dear' ? 3 : 1
    balance -= used
    if (fault === 'html') return c.html('<!doctype html><h1>We will be back soon</h1>')
    const good = body.parse(JSON.parse(text))
    const share = (fault === null ? undefined : depths[fault]) ?? 1
    const results = good.organic_results.slice(0, Math.ceil(good.organic_results.length * share))
    const told = { credits_used: used, credits_remaining: balance }
    return c.json({ ...good, ...told, organic_results: results })
  })
  const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 })
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** Sets the fault for later answers; null for no fault. */
    set: (next: NightFault | null) => {
      fault = next
    },
    /** Simulates a top-up (positive number of credits) or external spend (negative number). */
    change: (more: number) => {
      balance += more
    },
    close: () => new Promise((resolve) => void server.close(resolve)),
  }
}
