import pg from 'pg'
import { expect, test } from 'vitest'
import { letGo, troubleOf } from '../../../src/base/database/trouble.ts'

function fromServer(code: string): Error {
  return Object.assign(new pg.DatabaseError('said by the server', 1, 'error'), { code })
}

test.each(['08006', '57P01', '53300', '53100', '58030'])(
  'a server that reports %s is unreachable',
  (code) => {
    expect(troubleOf(fromServer(code))).toBe('away')
  },
)

test.each(['25006', '28P01', '3D000', '55000'])(
  'a server that is read-only, admits nobody or lacks the database (%s) counts as unreachable',
  (code) => {
    expect(troubleOf(fromServer(code))).toBe('away')
  },
)

test.each(['40001', '40P01', '55P03', '57014'])('%s is retried at once', (code) => {
  expect(troubleOf(fromServer(code))).toBe('conflict')
})

test.each(['22003', '23505', '42703'])('%s is caused by the data', (code) => {
  expect(troubleOf(fromServer(code))).toBe('data')
})

test('a connection that broke without a server error is unreachable', () => {
  expect(troubleOf(new Error('terminated'))).toBe('away')
  expect(troubleOf(Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }))).toBe('away')
})

test('an error of this program never counts as an outage', () => {
  expect(troubleOf(new TypeError('undefined is no function'))).toBe('data')
})

test('connections that break while closing are closed, and an error of ours is still reported', async () => {
  const broken = Object.assign(new Error('Connection terminated unexpectedly'), { code: '08006' })
  await expect(letGo(() => Promise.reject(broken))).resolves.toBeUndefined()
  await expect(letGo(() => Promise.reject(new TypeError('ours')))).rejects.toThrow('ours')
})
