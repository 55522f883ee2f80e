// const blocks = await mostBlocks(client, text, parameters)
//   → the largest number of blocks that a plan node of the statement read, which does not depend on the machine. The
//   statement is executed.
// const rows = await touchedRows(client, text, parameters)
//   → the number of rows that its nodes returned or discarded in total.
import type { ClientBase, Pool } from 'pg'

interface Plan {
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly 'Rows Removed by Join Filter'?: number
  readonly 'Shared Hit Blocks': number
  readonly 'Shared Read Blocks': number
  readonly Plans?: readonly Plan[]
}

export async function mostBlocks(
  client: ClientBase | Pool,
  text: string,
  parameters: readonly unknown[],
): Promise<number> {
  return most(await explain(client, text, parameters))
}

export async function touchedRows(
  client: ClientBase | Pool,
  text: string,
  parameters: readonly unknown[],
): Promise<number> {
  return touched(await explain(client, text, parameters))
}

async function explain(
  client: ClientBase | Pool,
  text: string,
  parameters: readonly unknown[],
): Promise<Plan> {
  const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: Plan }] }>(
    `explain (analyze, buffers, format json) ${text}`,
    [...parameters],
  )
  const [plan] = rows.map((row) => row['QUERY PLAN'][0].Plan)
  if (plan === undefined) throw new Error('expected a plan, got none')
  return plan
}

function most(plan: Plan): number {
  const own = plan['Shared Hit Blocks'] + plan['Shared Read Blocks']
  return Math.max(own, ...(plan.Plans ?? []).map(most))
}

function touched(plan: Plan): number {
  const removed = (plan['Rows Removed by Filter'] ?? 0) + (plan['Rows Removed by Join Filter'] ?? 0)
  const own = (plan['Actual Rows'] + removed) * plan['Actual Loops']
  return (plan.Plans ?? []).reduce((sum, part) => sum + touched(part), own)
}
