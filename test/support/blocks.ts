// const blocks = await mostBlocks(client, text, parameters)  → the most blocks that a part of the statement looked at: how
// much it reads, whatever the machine. The statement is really run.
import type { ClientBase, Pool } from 'pg'

interface Plan {
  readonly 'Shared Hit Blocks': number
  readonly 'Shared Read Blocks': number
  readonly Plans?: readonly Plan[]
}

export async function mostBlocks(
  client: ClientBase | Pool,
  text: string,
  parameters: readonly unknown[],
): Promise<number> {
  const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
    `explain (analyze, buffers, format json) ${text}`,
    [...parameters],
  )
  const [plan] = rows.map((row) => row['QUERY PLAN'][0].Plan)
  return plan === undefined ? Number.NaN : most(plan)
}

function most(plan: Plan): number {
  const own = plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
  return Math.max(own, ...(plan.Plans ?? []).map(most))
}
