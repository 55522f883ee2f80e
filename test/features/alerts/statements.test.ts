import { expect, test } from 'vitest'
import { insertAlerts, type NewAlert } from '../../../src/features/alerts/statements.ts'
import { freshDatabase } from '../../support/database.ts'
import { Story, ten } from '../analysis/story.ts'

test('more alerts than fit into one statement are all stored, and existing ones are not repeated', async () => {
  const database = await freshDatabase()
  await new Story(database.pool).night('2026-03-01', { shoes: ten('a') })
  const alert = (number: number): NewAlert => ({
    ...{ rule: 'lost', what: 'left', subject: `subject ${number}`, list: 'main', tag: null },
    ...{ query_id: null, domain: `a${number}.com`, other_domain: null, feature: null },
    ...{ direction: null, origin: 'live', base_run_id: null, base_run_date: '2026-02-28' },
    ...{ base_search_id: null, previous_position: 1, previous_share: null, run_id: 1 },
    ...{ run_date: '2026-03-01', search_id: null, position: null, share: null },
    ...{ said: `a${number}.com left`, question: 'npm run sql' },
  })
  const many = Array.from({ length: 4000 }, (_, number) => alert(number))
  await insertAlerts(database.db, many)
  await insertAlerts(database.db, many)
  const { rows } = await database.pool.query('select count(*) as count from alerts')
  expect(rows).toEqual([{ count: 4000 }])
  await database.close()
})
