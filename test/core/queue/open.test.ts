// @module-tag slow
import { describe, expect, test } from 'vitest'
import { openPart } from '../../../src/core/queue/queue.ts'
import { openScene } from '../../support/scene.ts'
import { openWay } from '../../support/way.ts'

const connections = { name: 'open-test', max: 1 }

describe('a component of the queue', () => {
  test('opens although its first connections fail', async () => {
    const { mill } = await openScene()
    const { url: databaseUrl } = await openWay(mill.databaseUrl, { down: 2 })
    const part = await openPart({ ...mill, databaseUrl }, connections, async (store) => {
      if (!('pool' in store)) throw new Error('expected the queue on PostgreSQL')
      const { rows } = await store.pool.query<{ one: number }>('select 1 as one')
      return { rows, close: () => Promise.resolve() }
    })
    expect(part.rows).toEqual([{ one: 1 }])
    await part.close()
  })

  test('does not try forever if every connection fails', async () => {
    const { mill } = await openScene()
    const { url: databaseUrl } = await openWay(mill.databaseUrl, { down: Infinity })
    const opened: string[] = []
    const part = openPart({ ...mill, databaseUrl }, connections, async () => {
      opened.push('the part')
      return { close: () => Promise.resolve() }
    })
    await expect(part).rejects.toMatchObject({ code: '08006' })
    expect(opened).toEqual([])
  })

  test('closes its connections with itself', async () => {
    const { mill } = await openScene()
    const open = async () => {
      const { rows } = await mill.pool.query(
        `select 1 from pg_stat_activity where application_name like '%open-test'`,
      )
      return rows.length
    }
    const closed: string[] = []
    const part = await openPart(mill, connections, async (store) => {
      if ('pool' in store) await store.pool.query('select 1')
      return { close: async () => void closed.push('the part') }
    })
    expect(await open()).toBe(1)
    await part.close()
    expect(closed).toEqual(['the part'])
    await expect.poll(open).toBe(0)
  })

  test('that cannot be opened leaves no connection behind', async () => {
    const { mill } = await openScene()
    const part = openPart(mill, connections, async (store) => {
      if ('pool' in store) await store.pool.query('select 1')
      throw new Error('out of reach')
    })
    await expect(part).rejects.toThrow('out of reach')
    const open = async () => {
      const { rows } = await mill.pool.query(
        `select 1 from pg_stat_activity where application_name like '%open-test'`,
      )
      return rows
    }
    // The server closes a connection a moment after it was told to.
    await expect.poll(open).toEqual([])
  })
})

test('many nights on one pool of the queue cause no leak warning', async () => {
  const { mill } = await openScene()
  const warnings: string[] = []
  const heed = ({ name }: Error) => void warnings.push(name)
  process.on('warning', heed)
  for (let night = 1; night <= 12; night += 1) {
    await mill.plan([`night ${night}`])
    await mill.drain()
  }
  process.off('warning', heed)
  expect(warnings).toEqual([])
})
