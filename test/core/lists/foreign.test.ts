import { describe, expect, test } from 'vitest'
import { read } from './support.ts'

describe('a file that is no list', () => {
  test.each([
    ['HTML', '<!DOCTYPE html>\n<html><head><title>Sign in</title></head>\nPlease sign in\n'],
    ['HTML', '<div class="a">x</div>\nplease\nsign in\n'],
    ['markup', 'report\n<p>red shoes</p>\n<p>blue shoes</p>\n<p>hats</p>\n'],
    ['XML', '<?xml version="1.0"?>\n<queries>\nred shoes\n</queries>\n'],
    ['TREC', '<top>\n<num> Number: 301\n<title> International Organized Crime\n</top>\n'],
    ['JSON', '{"keyword":"red shoes","volume":1}\n{"keyword":"hats","volume":2}\n'],
    ['JSON', '[\n  "red shoes",\n  "hats"\n]\n'],
    ['JSON', '["red shoes", "hats"]\n'],
    ['JSON', '{\n  "q": "red shoes",\n  "gl": "us"\n}\n'],
    ['YAML', '---\nkeywords:\n  - red shoes\n'],
    ['YAML', 'keywords:\n  - red shoes\n  - hats\n  - boots\n'],
    ['YAML', 'keyword: red shoes\ncountry: us\ndevice: mobile\n'],
    ['PDF', '%PDF-1.4\n1 0 obj\nred shoes\nendobj\n'],
    ['RTF', '{\\rtf1\\ansi\nred shoes\\par\nhats\\par\n}\n'],
    ['markdown', '# Queries\n\n- red shoes\n- hats\n\n---\n'],
    [
      'source file',
      "import { a } from './a.js'\nconst b = a()\nexport function c() {\n  return b;\n}\n",
    ],
    ['source file', '#!/bin/sh\necho hello\n'],
    ['source file', 'import os\ndef main():\n    return os.getcwd()\nmain()\n'],
    ['log', '2026-01-01 10:00:00 GET /a\n2026-01-01 10:00:01 GET /b\n'],
  ])(
    'but %s, as in %j, is refused as that unless each line is said to be a query',
    async (name, text) => {
      await expect(read(text)).rejects.toThrow(
        new RegExp(
          `^expected a list of queries in list\\.csv, got text that seems to be .*${name}.*--delimiter none`,
        ),
      )
      expect((await read(text, { delimiter: 'none' })).usable).toBeGreaterThan(0)
    },
  )

  test('but a table with ragged rows is refused, not bought line by line', async () => {
    const text =
      'P1,Acme,Shoe,red,39,10,19.90,EUR,yes\nP2,Acme,Boot,black\nP3,Hat\nP4,Acme,Sock,white,S,1\nP5\n'
    await expect(read(text)).rejects.toThrow(/^list\.csv:1: expected .* got 9 cells/)
    expect((await read(text, { delimiter: 'none' })).usable).toBe(5)
  })

  test.each(['Phrase', 'suggestions', 'TOPIC'])(
    'but a column under the unknown name %s is not bought with its name',
    async (name) => {
      const text = `${name}\nred shoes\nhats\n`
      await expect(read(text)).rejects.toThrow(`use --column "${name}" if it is the header`)
      expect((await read(text, { column: name })).texts).toEqual(['red shoes', 'hats'])
    },
  )

  test.each([
    'red shoes\nhats\n',
    '[red shoes]\n[hats]\n[boots]\n',
    '"red shoes"\n"hats"\n',
    'hello, world, again\nfoo\nbar\n',
    'what is c++\nhow to: cook\nimport duty\nreturn policy\n',
    'site:a.example shoes\nsite:b.example hats\n',
    'class action lawsuit\nimport cars\nfrom paris to rome\n',
    'c#\n#1 dad mug\n-40 degrees\n',
  ])('is not what %j is', async (text) => {
    expect((await read(text)).usable).toBe(text.trimEnd().split('\n').length)
  })
})
