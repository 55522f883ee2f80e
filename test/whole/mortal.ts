// A worker that kills itself at a given moment: `node mortal.js reserved`. With `never` it lives. It adds a byte to the
// file `received` of MILL_HOME for every reply that it has received, and stores what it has flushed to disk in the
// folder `flushed`.
import { closeSync, openSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { Closers } from '../../src/base/waiting.ts'
import { processEnvironment, readConfig } from '../../src/base/config.ts'
import { openMill } from '../../src/core/mill.ts'
import { work } from '../../src/core/worker/work.ts'
import { keepFlushed } from './flushed.ts'

const [, , moment] = process.argv
const config = readConfig(processEnvironment())
const say = (line: string) => void process.stderr.write(`${line}\n`)
const mill = await openMill({ config, closers: new Closers(), say, name: 'mortal' })
keepFlushed(join(config.home, 'flushed'))
const received = openSync(join(config.home, 'received'), 'a')
await work(mill, {
  drain: true,
  lanes: config.concurrency,
  signal: new AbortController().signal,
  report: say,
  onCall: () => void writeSync(received, '.'),
  at: (now) => {
    if (now === moment) process.kill(process.pid, 'SIGKILL')
  },
})
closeSync(received)
process.exit(0)
