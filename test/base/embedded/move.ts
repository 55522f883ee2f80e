// What a test starts as a process of its own: asks for the service of a home on one database, then on another, and ends.
import { ensureService } from '../../../src/base/embedded/service.ts'

const [home = '', ...databases] = process.argv.slice(2)
for (const databaseUrl of databases) {
  const { url } = await ensureService({ home, databaseUrl })
  process.stdout.write(`${url.origin}\n`)
}
