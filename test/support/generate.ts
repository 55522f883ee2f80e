// npm run generate: writes src/store/schema.ts from the live schema, made afresh from sql/migrations and sql/views.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../src/root.ts'
import { openServer, withDatabase } from './server.ts'
import { generateTypes } from './types.ts'

const server = await openServer()
try {
  const text = await generateTypes(withDatabase(server.adminUrl, server.template))
  writeFileSync(join(root, 'src', 'store', 'schema.ts'), text)
} finally {
  await server.close()
}
