import { describe, expect, test } from 'vitest'
import { read } from './support.ts'

const day = 86_400_000

describe('a column every', () => {
  test.each([
    ['1d', 1],
    ['3 days', 3],
    ['2w', 14],
    ['Weekly', 7],
    ['daily', 1],
    ['monthly', 30],
    ['366d', 366],
    ['', null],
    ['n/a', null],
  ])('that says %j has its query asked as often as that', async (cell, days) => {
    const { queries, rejected } = await read(`q,every\nshoes,${cell}\nhats,5d\n`)
    expect(rejected).toEqual([])
    expect(queries.map(({ everyDays }) => everyDays)).toEqual([days, 5])
  })

  test.each(['0d', '3', 'often', '367d', '12h', '-1d', '1.5d'])(
    'that says %j in one line rejects that line, as other cells do',
    async (cell) => {
      const { queries, rejected } = await read(`q,every\nshoes,${cell}\nhats,5d\n`)
      expect(queries.map(({ query }) => query.q)).toEqual(['hats'])
      expect(rejected).toMatchObject([
        {
          line: 2,
          reason: 'the value of every is not an interval such as "3d", "weekly" or "monthly"',
        },
      ])
    },
  )
})

describe('a column max_age', () => {
  test('says how old an answer may be, under its own name or with a blank', async () => {
    for (const name of ['max_age', 'Max age', 'max-age']) {
      const { queries } = await read(`q,${name}\nshoes,12h\nhats,7d\nboots,0\nsocks,\n`)
      expect(queries.map(({ maxAgeMs }) => maxAgeMs)).toEqual([day / 2, 7 * day, 0, null])
    }
  })

  test('with an unreadable duration in one line rejects that line', async () => {
    const { queries, rejected } = await read('q,max_age\nshoes,old\nhats,7d\n')
    expect(queries).toHaveLength(1)
    expect(rejected).toMatchObject([{ reason: 'max_age is not a duration such as "12h" or "7d"' }])
  })
})

test.each([
  ['q,every\nshoes,person\nhats,body\n', 'the column "every" is ignored: "person"'],
  ['q,max age\nshoes,65\nhats,99\n', 'the column "max age" is ignored: "65"'],
])('a column of that name that means something else costs no query: %j', async (text, notice) => {
  const { queries, notices } = await read(text)
  expect(queries).toHaveLength(2)
  expect(notices[0]).toContain(notice)
})

test('columns of tools with names alike are none of ours', async () => {
  const { queries, notices } = await read('Keyword,Age,Interval,Every day\nshoes,3d,weekly,7\n')
  expect(queries[0]).toMatchObject({ everyDays: null, maxAgeMs: null })
  expect(notices).toEqual([])
})
