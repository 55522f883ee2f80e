import { describe, expect, test } from 'vitest'
import { readConfig } from '../src/config.ts'
import { BadSettings } from '../src/errors.ts'

const key = { SEARCH_API_KEY: 'sk_test_secret' }

function said(env: Record<string, string>): string {
  try {
    readConfig(env)
  } catch (error) {
    if (error instanceof BadSettings) return error.message
    throw error
  }
  return ''
}

describe('the address of the API', () => {
  test.each([
    ['https://api.example.com/v1/search', 'https://api.example.com'],
    ['https://api.example.com/v1/search/', 'https://api.example.com'],
    ['https://api.example.com:8443/v1/search?q=a', 'https://api.example.com:8443'],
    ['https://api.example.com/proxy/v1/search', 'https://api.example.com/proxy'],
  ])('%s is refused with the right one, %s', (url, right) => {
    expect(said({ SEARCH_API_URL: url, ...key })).toContain(
      `SEARCH_API_URL: expected the base address ${right}, got one with /v1/search`,
    )
  })

  test.each([
    'https://api.example.com',
    'https://api.example.com/',
    'https://api.example.com/proxy',
    'https://api.example.com/v1/search/proxy',
    'https://api.example.com/v1/searches',
    'http://127.0.0.1:8787',
  ])('%s is taken as it is', (url) => {
    expect(readConfig({ SEARCH_API_URL: url, ...key }).api?.url.href).toBe(new URL(url).href)
  })

  test('is judged together with the other settings, and no message shows a key', () => {
    const message = said({
      SEARCH_API_URL: 'http://me:pass@api.example.com/v1/search?api_key=sk_live_hidden',
      MILL_CONCURRENCY: '0',
    })
    for (const problem of [
      'SEARCH_API_URL: expected the base address http://api.example.com,',
      'SEARCH_API_URL: expected an address without a key in it',
      'SEARCH_API_URL: expected https, got http',
      'SEARCH_API_KEY: expected a key',
      'MILL_CONCURRENCY: expected a whole number',
    ]) {
      expect(message).toContain(problem)
    }
    expect(message).not.toMatch(/pass@|hidden/)
  })
})
