/** Benchmarks that can be run separately. */
export const benchNames = [
  'mill',
  'lists',
  'ledger',
  'hosts',
  'growth',
  'soak',
  'service',
  'enrich',
  'quality',
  'analysis',
  'desk',
  'partitions',
  'repeats',
  'archive',
  'beside',
] as const
