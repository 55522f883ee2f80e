/** What can be measured by itself. */
export const benchNames = [
  'mill',
  'lists',
  'ledger',
  'growth',
  'soak',
  'service',
  'enrich',
  'quality',
  'analysis',
] as const
