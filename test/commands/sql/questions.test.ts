import { describe, expect, test } from 'vitest'
import { findQuestion } from '../../../src/commands/sql/ask.ts'
import { bindParameters, parseQuestion } from '../../../src/commands/sql/questions.ts'

describe('questions', () => {
  test('a cast is no parameter, and a parameter that is not declared is an error', () => {
    const text = '-- What?\n-- :a (text)\n-- :b = 5 (number)\nselect :a::text, :b::integer, :a'
    expect(parseQuestion('x', text)).toMatchObject({
      sql: 'select $1::text, $2::integer, $1',
      parameters: [
        { name: 'a', meaning: 'text', fallback: undefined },
        { name: 'b', meaning: 'number', fallback: '5' },
      ],
    })
    expect(() => parseQuestion('x', '-- What?\nselect :c')).toThrow(/declare :c/)
  })

  test('parameters are given in either spelling, and wrong ones are named', () => {
    const question = parseQuestion('x', '-- What?\n-- :a (text)\n-- :b = (number)\nselect :a, :b')
    expect(bindParameters(question, ['--a', 'two words'])).toEqual(['two words', null])
    expect(bindParameters(question, ['--b=1', '--a='])).toEqual([null, '1'])
    expect(() => bindParameters(question, [])).toThrow(/expected --a \(text\)/)
    expect(() => bindParameters(question, ['--c', '1'])).toThrow(/it has --a, --b/)
    expect(() => bindParameters(question, ['a'])).toThrow(/--parameter value/)
    expect(() => findQuestion('mover', [])).toThrow(/perhaps movers/)
  })
})
