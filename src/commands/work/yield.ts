const waiting: (() => void)[] = []

/**
 * Resolves when each earlier caller has had a round of the event loop. Answers that come in their hundreds are parsed in
 * a round each, and replies of PostgreSQL are read between them: a transaction that waits for its reply may hold a row
 * that all workers wait for.
 */
export function yieldInTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve)
    if (waiting.length === 1) setImmediate(callNext)
  })
}

function callNext(): void {
  waiting.shift()?.()
  if (waiting.length > 0) setImmediate(callNext)
}
