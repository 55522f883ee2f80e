import { describe, expect, test } from 'vitest'
import { html, link } from '../../../src/desk/drawing/html.ts'

describe('a template', () => {
  test('escapes every value', () => {
    expect(html`<p title="${'"><b>'}">${'<script>&'}${["'", '`']}${null}</p>`.text).toBe(
      '<p title="&quot;&gt;&lt;b&gt;">&lt;script&gt;&amp;&#39;&#96;</p>',
    )
  })

  test('replaces characters that HTML forbids or that change the text direction', () => {
    expect(html`${'a\u0000b\u202ec\ud800'}`.text).toBe('a\ufffdb\ufffdc\ufffd')
  })

  test('links only to web addresses', () => {
    expect(link('https://example.com/?a=1&b="2"', 'x').text).toBe(
      '<a href="https://example.com/?a=1&amp;b=%222%22" rel="noopener noreferrer nofollow">x</a>',
    )
    for (const url of ['javascript:1', 'data:text/html,x', '//example.com', 'https://', null]) {
      expect(link(url, '<x>').text).toBe('&lt;x&gt;')
    }
  })
})
