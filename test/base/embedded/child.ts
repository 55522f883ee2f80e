// Started by tests as a separate process: ensures that the server of a home runs, and prints the result.
import { ensurePostgres } from '../../../src/base/embedded/postgres.ts'

const { url, started } = await ensurePostgres(process.argv[2] ?? '', {
  tuning: { fsync: 'off' },
})
process.stdout.write(`${JSON.stringify({ url, started, uid: process.getuid?.() })}\n`)
// With a second argument it keeps running, like a command in progress.
if (process.argv[3] === 'stay') setInterval(() => undefined, 1_000)
