/** The row of a statement that always gives one. */
export function only<T>(rows: readonly T[]): T {
  const [row] = rows
  if (row === undefined) throw new Error('expected a row, got none')
  return row
}
