/** What can be measured by itself. */
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
