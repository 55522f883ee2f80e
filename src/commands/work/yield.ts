const waiting: (() => void)[] = []

/**
 * Resolves when all who asked before had a round of the event loop each. Answers that come in their hundreds are read
 * one by one that way, and PostgreSQL is heard between them: whoever waits for it may hold a row that all wait for.
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
