import { describe, expect, test } from 'vitest'
import { maskPassword, readRedisAddress } from '../../src/base/address.ts'

const nobody = { username: undefined, password: undefined }

describe('a Redis address', () => {
  test('of one server is used as it is', () => {
    const url = 'rediss://mill:p%40ss@redis.example.com:6380/2'
    expect(readRedisAddress(url)).toEqual({ kind: 'server', url })
  })

  test('of sentinels names the master, its database and the user', () => {
    expect(readRedisAddress('redis+sentinel://mill:p%40ss@one:26380,two/main/3')).toEqual({
      kind: 'sentinel',
      nodes: [
        { host: 'one', port: 26_380 },
        { host: 'two', port: 26_379 },
      ],
      secure: false,
      username: 'mill',
      password: 'p@ss',
      name: 'main',
      db: 3,
      sentinel: nobody,
    })
  })

  test('of sentinels names the sentinel user, if that is a different one', () => {
    const asked = 'sentinel_username=watch&sentinel_password=a+b%26c'
    expect(readRedisAddress(`rediss+sentinel://:secret@one/main?${asked}`)).toMatchObject({
      secure: true,
      ...nobody,
      password: 'secret',
      sentinel: { username: 'watch', password: 'a+b&c' },
    })
  })

  test('of a cluster names some of its servers', () => {
    expect(readRedisAddress('rediss+cluster://:secret@[::1]:7000,two:7001')).toEqual({
      kind: 'cluster',
      nodes: [
        { host: '::1', port: 7_000 },
        { host: 'two', port: 7_001 },
      ],
      ...nobody,
      secure: true,
      password: 'secret',
    })
    expect(readRedisAddress('redis+cluster://one')).toMatchObject({ ...nobody, secure: false })
  })

  test.each([
    'http://redis',
    'redis+sentinel://one:26379',
    'redis+cluster://one/0',
    'redis+cluster://one:port',
    'redis+cluster://one,,two',
    'redis+cluster://',
    'redis+other://one',
    'redis+sentinel://one/main?password=secret',
    'redis+cluster://one?sentinel_password=secret',
  ])('is invalid with %s', (text) => {
    expect(readRedisAddress(text)).toBeNull()
  })

  test('is shown without its password, whatever its form', () => {
    expect(maskPassword('redis+sentinel://mill:secret@one,two/main')).toBe(
      'redis+sentinel://mill:…@one,two/main',
    )
    expect(
      maskPassword('redis+sentinel://one/main?sentinel_password=secret&sentinel_username=me'),
    ).toBe('redis+sentinel://one/main?sentinel_password=…&sentinel_username=me')
  })
})
