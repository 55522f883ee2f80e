/** Rows that went, or whose texts did, by table. */
export type Gone = Readonly<Record<string, number>>

/** Both together. */
export function addGone(one: Gone, other: Gone): Gone {
  const sum: Record<string, number> = { ...one }
  for (const [table, rows] of Object.entries(other)) sum[table] = (sum[table] ?? 0) + rows
  return sum
}

/** How many rows a statement touched. */
export async function tally(done: Promise<{ readonly numAffectedRows?: bigint }>): Promise<number> {
  return Number((await done).numAffectedRows ?? 0)
}
