/** The rows of each name, in the order in which names first come. */
export function groupBy<Row, Name>(
  rows: readonly Row[],
  nameOf: (row: Row) => Name,
): ReadonlyMap<Name, readonly Row[]> {
  const found = new Map<Name, Row[]>()
  for (const row of rows) {
    const name = nameOf(row)
    const same = found.get(name)
    if (same === undefined) found.set(name, [row])
    else same.push(row)
  }
  return found
}
