import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from '../../../src/base/root.ts'
import { freshDatabase } from '../../support/database.ts'
import { describeSchema } from '../../support/dictionary.ts'
import { generateTypes } from '../../support/types.ts'

test('the types of the tables are those of the live schema', async () => {
  const database = await freshDatabase()
  const live = await generateTypes(database.url)
  await database.close()
  const kept = readFileSync(join(root, 'src', 'base', 'database', 'schema.ts'), 'utf8')
  expect(kept, 'type npm run generate').toBe(live)
})

test('docs/schema.md matches the comments in the database; npm run generate updates it', async () => {
  const database = await freshDatabase()
  try {
    const { rows } = await database.pool.query<{ version: number }>(
      "select current_setting('server_version_num')::integer as version",
    )
    // Before PostgreSQL 18, the catalogue does not contain the declared keys.
    const keys = (rows[0]?.version ?? 0) >= 180_000
    const comparable = (text: string) => (keys ? text : text.replace(/```mermaid.*?```/s, ''))
    const file = readFileSync(join(root, 'docs', 'schema.md'), 'utf8')
    expect(comparable(file)).toBe(comparable(await describeSchema(database.pool)))
    for (const name of ['analysis.movers', 'organic_results', 'own_domains']) {
      expect(file).toContain(`### ${name}\n`)
    }
  } finally {
    await database.close()
  }
})
