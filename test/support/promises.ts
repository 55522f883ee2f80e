// verifyPromises(db) → runs every check of `verify` on one snapshot.
import type { Database } from '../../src/base/database/database.ts'
import { type Check, onSnapshot, runChecks } from '../../src/features/verify/command.ts'

export async function verifyPromises(db: Database, zone = 'UTC'): Promise<readonly Check[]> {
  return onSnapshot(db, (snapshot) => runChecks(snapshot, { zone, days: null }))
}
