import { inFile, type Mutant } from './mutant.ts'

const room = 'test/core/worker'

export const workMutants: readonly Mutant[] = [
  ...inFile(
    'src/core/ledger/leases.ts',
    ['test/core/ledger/leases.test.ts', `${room}/upkeep.test.ts`],
    [
      {
        name: 'a lease covers everything',
        find: 'return now.steady + callMs < term.steady && now.wall + callMs < term.wall',
        put: 'return now.steady > -callMs || term.steady > 0',
      },
      {
        name: 'a lease goes on while the machine sleeps',
        find: ' && now.wall + callMs < term.wall',
        put: '',
      },
      {
        name: 'a lease covers calls that begin within it, however long they take',
        find: 'return now.steady + callMs < term.steady',
        put: 'return now.steady < term.steady',
      },
      {
        name: 'nobody is spared after an outage',
        find: 'return now - beatAt > spared ? now + spared : before',
        put: 'return now - beatAt > spared ? before : before',
      },
    ],
  ),
  ...inFile(
    'src/core/ledger/leases.ts',
    ['test/core/ledger/leases.test.ts', `${room}/upkeep.test.ts`],
    [
      {
        name: 'what was given up is never released',
        find: '    if (forgotten.length > 0) await settleCalls(this.#options.db, rules, forgotten.map(unsentCall))\n',
        put: '',
      },
      {
        name: 'calls of dead workers are found and left',
        find: '      await settleCalls(this.#options.db, { ...rules, account }, lost.map(lostCall))\n',
        put: '',
      },
      {
        name: 'a beat does not lengthen the lease',
        find: '    this.term = termOf(asked, leaseMs)\n',
        put: '',
      },
      {
        name: 'calls of another account are settled in the books of this one',
        find: 'settleCalls(this.#options.db, { ...rules, account }, lost.map(lostCall))',
        put: 'settleCalls(this.#options.db, rules as SettlementRules, lost.map(lostCall))',
      },
    ],
  ),
  ...inFile(
    'src/core/worker/outages.ts',
    [`${room}/brake.test.ts`],
    [
      {
        name: 'the brake forgets a refused key',
        find: "    if (stops === 'auth') this.#keyRefused = true\n",
        put: '',
      },
      {
        name: 'the brake does not ask the lease',
        find: "    if (!lease.covers(timeoutMs, term)) return 'LEASE_TOO_SHORT'\n",
        put: '',
      },
      {
        name: 'a refusal that was written down holds calls back for ever',
        find: "    if (policy[verdict.kind].stops === 'auth') this.#keyRefused = false\n",
        put: '',
      },
      {
        name: 'calls go out before the time that the API asked for',
        find: 'this.#holdUntil = Math.max(this.#holdUntil, this.#now() + wait)',
        put: 'this.#holdUntil = this.#holdUntil + 0 * wait',
      },
      {
        name: 'a worker that ends sends what it has reserved',
        find: "return this.#ending ? 'ENDING' : null",
        put: 'return null',
      },
      {
        name: 'calls that were held back here count as an outage of the API',
        find: 'else if (!ourOwn.has(reply.code)) this.#pauseApi()',
        put: 'else this.#pauseApi()',
      },
    ],
  ),
  ...inFile(
    'src/core/worker/duties.ts',
    [`${room}/upkeep.test.ts`],
    [
      {
        name: 'logs of dead workers are not settled before their calls are given up',
        find: '    await settleAbandonedLogs(mill, spender, options.report)\n',
        put: '',
      },
      {
        name: 'nobody gives up the calls of dead workers',
        find: 'if (performance.now() >= this.#spareUntil) await lease.reap(spender)',
        put: '',
      },
      {
        name: 'workers are given up right after an outage',
        find: 'if (performance.now() >= this.#spareUntil) await lease.reap(spender)',
        put: 'await lease.reap(spender)',
      },
      {
        name: 'calls are given up before the lease is renewed',
        find: '    // The heartbeat comes first, because it shows how long this and other workers may have been delayed.\n    await this.#beat()\n',
        put: '',
      },
      {
        name: 'nobody releases what was given up',
        find: '    await lease.release(spender)\n',
        put: '',
      },
      {
        name: 'a worker whose entry is gone works on',
        find: 'if (isFatal(error)) this.#worker.fatal = asError(error)\n        else this',
        put: 'this',
      },
    ],
  ),
  ...inFile(
    'src/core/ledger/entry.ts',
    ['test/core/ledger/entry.test.ts'],
    [
      {
        name: 'an answer without a price is free',
        find: "  return { kind: 'unknown' }\n",
        put: "  return { kind: 'settled', used: 0, remaining: null, priced: false }\n",
      },
      {
        name: 'a call whose worker died costs nothing',
        find: "    ending: { kind: 'unknown' },\n",
        put: "    ending: { kind: 'unsent' },\n",
      },
      {
        name: 'a death does not count',
        find: 'ambiguous: true, death: true, waitMs: 0, code, message }',
        put: 'ambiguous: true, death: false, waitMs: 0, code, message }',
      },
      {
        name: 'the body of an answer that cannot be stored is thrown away',
        find: 'answer: { ...entry.answer, search: null },',
        put: 'answer: null,',
      },
    ],
  ),
  ...inFile(
    'src/core/worker/batch.ts',
    [`${room}/batch.test.ts`],
    [
      {
        name: 'an entry is let go of before it is written',
        find: '      this.#kept.add(waiting)\n',
        put: '',
      },
      {
        name: 'one bad entry takes the others along',
        find: 'batch.length === 1) return',
        put: 'batch.length < 1000) return',
      },
      {
        name: 'a database that is away counts as a fault of the entry',
        find: "if (trouble === 'data' || this.#abandoned) throw error",
        put: 'throw error',
      },
      {
        name: 'entries of calls that nobody knows are not told',
        find: '    if (strangers.length > 0) options.onStrangers(strangers)\n',
        put: '',
        tests: [`${room}/unwritten.test.ts`],
      },
    ],
  ),
  ...inFile(
    'src/core/worker/outages.ts',
    [`${room}/witnesses.test.ts`],
    [
      {
        name: 'a refused key is believed although it was answered later',
        find: 'const refuted = this.#newestAnswered > first ||',
        put: 'const refuted =',
      },
      {
        name: 'an answer from before speaks for a refused key',
        find: 'const refuted = this.#newestAnswered > first ||',
        put: 'const refuted = this.#newestAnswered > 0 ||',
      },
      {
        name: 'nobody waits for calls that could speak for a refused key',
        find: 'while (this.#newestAnswered < first && this.#anyAfter(first)) {',
        put: 'while (this.#newestAnswered < first && first < 0) {',
      },
    ],
  ),
  ...inFile(
    'src/core/worker/dispatch.ts',
    [`${room}/tasks.test.ts`],
    [
      {
        name: 'a suspect goes out beside others',
        find: 'return flying === 0 ? tasks.slice(0, 1) : []',
        put: 'return tasks.slice(0, count)',
      },
      {
        name: 'the least urgent goes first',
        find: 'a.priority - b.priority || a.id - b.id',
        put: 'b.priority - a.priority || a.id - b.id',
      },
    ],
  ),
  ...inFile(
    'src/core/worker/batch.ts',
    [`${room}/capacity.test.ts`],
    [
      {
        name: 'answers pile up in memory without limit',
        find: 'return lanes + ahead + mostUnwritten(lanes)',
        put: 'return 1_000_000 + ahead * lanes',
      },
      {
        name: 'calls are reserved ahead under a rate limit, too',
        find: 'const counted = rateLimit !== null || mostInFlight !== null',
        put: 'const counted = rateLimit !== null && mostInFlight !== null',
      },
    ],
  ),
  ...inFile(
    'src/core/worker/recovery.ts',
    [`${room}/unwritten.test.ts`],
    [
      {
        name: 'a log is removed although answers in it are of no known call',
        find: '    if (left === 0) rmSync(log.file, { force: true })\n',
        put: '    if (left >= 0) rmSync(log.file, { force: true })\n',
      },
      {
        name: 'a logged refusal of a key stops the key that is set now',
        find: "const signal = entry.signal === 'key_refused' ? null : entry.signal",
        put: 'const { signal } = entry',
      },
    ],
  ),
  ...inFile(
    'src/core/worker/write-ahead-log.ts',
    [`${room}/write-ahead-log.test.ts`],
    [
      {
        name: 'a segment begins anew while replies in it wait',
        find: '    if (this.#pending === 0) this.#restart()\n',
        put: '    this.#restart()\n',
      },
      {
        name: 'a segment is never written over',
        find: '    if (this.#pending === 0) this.#restart()\n',
        put: '',
      },
      {
        name: 'the log of a living worker is read',
        find: '  if (ownFiles.has(file)) return false\n',
        put: '',
      },
      {
        name: 'a damaged body counts as an answer',
        find: 'crc32(body) === crc',
        put: 'crc32(body) >= 0',
      },
      {
        name: 'a reply that comes during a flush waits for the next reply',
        find: '    } while (this.#segments.some(({ dirty }) => dirty))\n',
        put: '    } while (false)\n',
      },
      {
        name: 'damaged replies are not counted',
        find: '      torn += 1\n',
        put: '',
      },
      {
        name: 'settled replies of an earlier generation are read again',
        find: 'if (record === null || record.head.generation !== first?.generation) break',
        put: 'if (record === null) break',
      },
    ],
  ),
]
