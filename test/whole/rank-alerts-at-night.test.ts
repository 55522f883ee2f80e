// @module-tag slow
import { describe, expect, test } from 'vitest'
import {
  type AlertRule,
  listAlerts,
  replaceAlertRules,
} from '../../src/features/alerts/statements.ts'
import { openScene, queries } from '../support/scene.ts'

const rule = (name: string, what: AlertRule['what'], more: Partial<AlertRule> = {}): AlertRule => ({
  ...{ name, what, threshold: null, direction: null, list: null, tag: null },
  ...{ domain: null, rival: null, feature: null, confirm: 1, ...more },
})

describe('nights that are bought from an API', () => {
  test('raise no alert while it fails or returns nothing or a web page, and the expected ones afterwards', async () => {
    const { api, mill } = await openScene()
    await replaceAlertRules(mill.db, [
      rule('part', 'new_feature', { feature: 'knowledge_graph', confirm: 2 }),
      rule('lost', 'left', { domain: '*' }),
      rule('won', 'entered', { domain: '*' }),
      rule('moved', 'moved', { threshold: 1, domain: '*' }),
      rule('share', 'share_fell', { threshold: 1, domain: 'www.example.com' }),
    ])
    const told: string[] = []
    const night = async (date: string) => {
      const id = await mill.plan(queries(12))
      await mill.db.updateTable('runs').set({ run_date: date }).where('id', '=', id).execute()
      await mill.drain({ report: (line) => told.push(line) })
    }
    for (const day of [1, 2, 3]) await night(`2026-01-0${day}`)
    api.set({ faults: [{ kind: 'fields', what: 'empty' }] })
    await night('2026-01-04')
    api.set({ faults: [{ kind: 'body', body: 'html' }] })
    await night('2026-01-05')
    api.set({ faults: [{ kind: 'status', status: 400 }] })
    await night('2026-01-06')
    expect(await listAlerts(mill.db, { id: null, rule: null, standing: false, limit: 99 })).toEqual(
      [],
    )
    api.set({ faults: [{ kind: 'fields', what: 'extra' }] })
    await night('2026-01-07')
    await night('2026-01-08')
    const found = await listAlerts(mill.db, { id: null, rule: null, standing: true, limit: 99 })
    expect(found).toHaveLength(12)
    expect(new Set(found.map(({ q }) => q))).toEqual(new Set(queries(12)))
    for (const alert of found) {
      expect(alert).toMatchObject({
        ...{ alert: 'part', feature: 'knowledge_graph', origin: 'live' },
        ...{ base_run_date: '2026-01-03', run_date: '2026-01-08' },
      })
    }
    expect(told.filter((line) => line.startsWith('rank alert'))).toEqual([
      expect.stringMatching(
        /^rank alert part: the answer for "query \d+" shows knowledge_graph.* 11 more/,
      ),
    ])
    api.set({ faults: [] })
    await night('2026-01-09')
    expect(told.at(-1)).toBe('12 rank alerts recovered')
  })
})
