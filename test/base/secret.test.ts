import { describe, expect, test } from 'vitest'
import { scrubbedReason } from '../../src/base/secret.ts'

describe('the scrubbed reason', () => {
  test('for several errors in one names all of them, without keys', () => {
    const errors = [new Error('refused sk_live_abc123'), new AggregateError([new Error('late')])]
    expect(scrubbedReason(new AggregateError(errors, 'two failed'))).toBe('refused sk_live_…; late')
  })
})
