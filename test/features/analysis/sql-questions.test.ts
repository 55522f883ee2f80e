import { describe, expect, test } from 'vitest'
import {
  bindQuestion,
  findQuestion,
  parseQuestion,
} from '../../../src/features/analysis/library.ts'

describe('questions', () => {
  test('a cast is not a parameter, and an undeclared parameter is an error', () => {
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

  test('parameters are accepted in either spelling, and wrong ones are named', () => {
    const question = parseQuestion('x', '-- What?\n-- :a (text)\n-- :b = (number)\nselect :a, :b')
    expect(bindQuestion(question, ['--a', 'two words']).values).toEqual(['two words', null])
    expect(bindQuestion(question, ['--b=1', '--a=']).values).toEqual([null, '1'])
    expect(() => bindQuestion(question, [])).toThrow(/expected --a \(text\)/)
    expect(() => bindQuestion(question, ['--c', '1'])).toThrow(/valid parameters: --a, --b/)
    expect(() => bindQuestion(question, ['a'])).toThrow(/--parameter value/)
    expect(() => findQuestion('ranking', [])).toThrow(/did you mean (.* or )?ranks/)
  })

  const narrowed = (text: string, ...flags: string[]) =>
    bindQuestion(parseQuestion('x', `-- What?\n-- :day = newest (day)\n${text}`), flags)

  test('flags of queries restrict every question but those that say why not, flags of days those with a time', () => {
    expect(narrowed('select :day', '--device', 'mobile,tablet', '--list', 'a,b').slice).toEqual({
      conditions: [['+list=a,b'], ['+device=mobile', '+device=tablet']],
      since: undefined,
      until: undefined,
    })
    const spanned = 'select :day where analysis.in_span(run_date)'
    expect(narrowed(spanned, '--between', '2026-01-01..2026-01-31')).toMatchObject({
      values: ['2026-01-31'],
      slice: { since: '2026-01-01', until: '2026-01-31' },
    })
    // The later of two days is the day of the question.
    expect(narrowed('select analysis.since(:day, 7)', '--until', '2026-01-31').values).toEqual([
      '2026-01-31',
    ])
    expect(() => narrowed('select :day', '--since', '2026-01-01')).toThrow(
      'expected a parameter of x, got --since; valid parameters: --day, --list, --tag, --country, --place, --language, --device',
    )
    const apart = parseQuestion('x', '-- What?\n-- unsliced: it is about money\nselect 1')
    expect(() => bindQuestion(apart, ['--tag', 'a'])).toThrow(/got --tag; valid parameters: none/)
  })

  test('an invalid day, a reversed period and two ways to say one are refused', () => {
    const spanned = 'select :day where analysis.in_span(run_date)'
    for (const [flags, message] of [
      [['--since', '2026-02-30'], /--since to be a date like 2026-11-01, got "2026-02-30"/],
      [['--between', '2026-02-03'], /--between to name two dates/],
      [['--between', '2026-02-03..2026-02-01'], /the earlier date first/],
      [
        ['--between', '2026-02-01,2026-02-03', '--since', '2026-02-01'],
        /omit --between or the other flags/,
      ],
    ] as const) {
      expect(() => narrowed(spanned, ...flags)).toThrow(message)
    }
  })

  test('labels are joined by and, or, not and parentheses, and adjacent words are one', () => {
    const read = (typed: string) => narrowed('select :day', '--tag', typed).slice.conditions
    expect(read('red shoes AND not (sale or "and")')).toEqual([['+red shoes'], ['-sale'], ['-and']])
    expect(read('a and b or c')).toEqual([
      ['+a', '+c'],
      ['+b', '+c'],
    ])
    expect(read('not (a and not b)')).toEqual([['-a', '+b']])
    for (const typed of ['a and', 'or', '(a', 'a b) c', 'a "b"']) {
      expect(() => read(typed)).toThrow(/--tag to be tags joined by and, or, not and parentheses/)
    }
    const dear = Array.from({ length: 8 }, (_, n) => `(a${n} and b${n})`).join(' or ')
    expect(() => read(dear)).toThrow(/at most 200 conditions/)
  })

  test('custom SQL accepts the flags of queries, and no others', () => {
    expect(findQuestion('select 1 as a', ['--device', 'mobile']).slice?.conditions).toEqual([
      ['+device=mobile'],
    ])
    expect(() => findQuestion('select 1 as a', ['--rows', '1'])).toThrow(
      /got --rows; put the value/,
    )
  })
})
