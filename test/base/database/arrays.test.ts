import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ArrayColumn, kinds } from '../../../src/base/database/arrays.ts'
import { contentId, idBytes } from '../../../src/base/query.ts'
import { type FreshDatabase, freshDatabase } from '../../support/database.ts'
import { isReadRight } from '../../support/parser.ts'

let database: FreshDatabase
beforeAll(async () => {
  database = await freshDatabase()
})
afterAll(() => database.close())

/** Returns the column as PostgreSQL reads it. */
async function read(column: { toParameter: () => Buffer }, type: string): Promise<unknown[]> {
  const { rows } = await database.pool.query<{ value: unknown }>(
    `select value from unnest($1::${type}[]) with ordinality as given (value, n) order by n`,
    [column.toParameter()],
  )
  return rows.map(({ value }) => value)
}

/** Returns the values as PostgreSQL sends them back. */
async function passOn<T>(
  column: { add: (value: T) => void; toParameter: () => Buffer },
  type: string,
  values: readonly T[],
): Promise<unknown[]> {
  for (const value of values) column.add(value)
  return read(column, type)
}

const text = fc.oneof(fc.string({ unit: 'grapheme' }), fc.string({ maxLength: 40_000 }))
// PostgreSQL can't store this character; it is removed from everything that is stored.
const kept = text.map((value) => value.replaceAll('\0', '').toWellFormed())
const whole = fc.oneof(fc.maxSafeInteger(), fc.constantFrom(-1, 0, 2 ** 31, -(2 ** 31), 2 ** 32))

describe('an array column reaches PostgreSQL unchanged', () => {
  const runs = { numRuns: 50 }

  test('with texts', async () => {
    const some = fc.array(fc.option(kept))
    await fc.assert(
      fc.asyncProperty(some, async (values) => {
        expect(await passOn(new ArrayColumn(kinds.text), 'text', values)).toEqual(values)
      }),
      runs,
    )
  })

  test('with whole numbers', async () => {
    const some = fc.array(fc.option(whole))
    await fc.assert(
      fc.asyncProperty(some, async (values) => {
        expect(await passOn(new ArrayColumn(kinds.bigint), 'bigint', values)).toEqual(values)
      }),
      runs,
    )
  })

  test('with booleans', async () => {
    const some = fc.array(fc.boolean())
    await fc.assert(
      fc.asyncProperty(some, async (values) => {
        expect(await passOn(new ArrayColumn(kinds.boolean), 'boolean', values)).toEqual(values)
      }),
      runs,
    )
  })

  test('with ordinals', async () => {
    const some = fc.array(fc.integer())
    await fc.assert(
      fc.asyncProperty(some, async (values) => {
        expect(await passOn(new ArrayColumn(kinds.integer), 'integer', values)).toEqual(values)
      }),
      runs,
    )
  })

  test('with fractions', async () => {
    const some = fc.array(fc.option(fc.double({ noNaN: true })))
    await fc.assert(
      fc.asyncProperty(some, async (values) => {
        expect(await passOn(new ArrayColumn(kinds.double), 'double precision', values)).toEqual(
          values,
        )
      }),
      runs,
    )
  })

  test('with JSON objects of any content', async () => {
    const object = fc.dictionary(kept, fc.oneof(kept, whole, fc.boolean()))
    const some = fc.array(fc.option(object.filter((one) => isReadRight(JSON.stringify(one)))))
    await fc.assert(
      fc.asyncProperty(some, async (values) => {
        expect(await passOn(new ArrayColumn(kinds.jsonb), 'jsonb', values)).toEqual(values)
      }),
      runs,
    )
  })

  test('with bytes', async () => {
    const some = fc.array(fc.uint8Array({ maxLength: 20_000 }).map((bytes) => Buffer.from(bytes)))
    await fc.assert(
      fc.asyncProperty(some, async (values) => {
        expect(await passOn(new ArrayColumn(kinds.bytea, 0), 'bytea', values)).toEqual(values)
      }),
      runs,
    )
  })

  test('with ids, equal to those written as uuids elsewhere', async () => {
    const column = new ArrayColumn(kinds.uuid)
    const names = Array.from({ length: 200 }, (_, number) => `page ${number}`)
    for (const name of names) column.add(idBytes('page', name))
    column.add(null)
    expect(await read(column, 'uuid')).toEqual([
      ...names.map((name) => contentId('page', name)),
      null,
    ])
  })

  test('if it is empty', async () => {
    expect(await read(new ArrayColumn(kinds.text), 'text')).toEqual([])
  })

  test('if it held other values before', async () => {
    const some = fc.array(fc.option(kept))
    await fc.assert(
      fc.asyncProperty(some, some, async (before, values) => {
        const column = new ArrayColumn(kinds.text)
        await passOn(column, 'text', before)
        column.clear()
        expect(await passOn(column, 'text', values)).toEqual(values)
      }),
      runs,
    )
  })
})

describe('a column', () => {
  test('is blank while only nulls were added', () => {
    const column = new ArrayColumn(kinds.text)
    expect(column.blank).toBe(true)
    column.add(null)
    expect(column.blank).toBe(true)
    column.add('')
    expect(column.blank).toBe(false)
    column.clear()
    expect(column.blank).toBe(true)
  })
})
