// Runs the `keys` command: creates, replaces, revokes and lists keys, changes accounts, and shows usage.

import { text } from 'node:stream/consumers'
import { type Call, print, printJson, say } from '../base/cli/command.ts'
import { wholeFlag, wordFlag } from '../base/cli/flags.ts'
import { type Exit, exits, Misuse } from '../base/errors.ts'
import { formatInstant, readDuration } from '../base/time/zone.ts'
import { openTablesOf } from './database.ts'
import { type IssuedKey, isLow, isRevoked, keyKinds, Keys, type ListedKey } from './keys.ts'

export interface KeysOptions {
  readonly kind: string
  readonly credits?: string
  readonly plan?: string
  readonly account?: string
  readonly rate?: string
  readonly name?: string
  readonly grace?: string
}

interface Shown {
  readonly json: unknown
  readonly lines: readonly string[]
  readonly hint?: string | undefined
}

type Flags = ReturnType<typeof readFlags>
type Action = (keys: Keys, flags: Flags, word: string | undefined) => Promise<Shown>

const actions = {
  create: async (keys, flags) => {
    refuseOddFlags(flags)
    return issued(await keys.create({ ...flags, kind: wordFlag('kind', flags.kind, keyKinds) }))
  },
  rotate: async (keys, { grace = '24h' }, word) => {
    const id = wholeFlag('key', word, Number.MAX_SAFE_INTEGER) ?? missing('the number of a key')
    const graceMs = readDuration(grace)
    if (graceMs === null)
      throw new Misuse(`expected --grace to be a duration like 24h, got ${grace}`)
    return issued(await keys.rotate({ id, graceMs }), `; the old key remains valid for ${grace}`)
  },
  revoke: async (keys, _, word = missing('the number of a key')) => {
    // For `-`, the key is read from stdin, because other users of the machine can see the command line.
    const given = word === '-' ? (await text(process.stdin)).trim() : word
    if (!(await keys.revoke(given))) {
      throw new Misuse(
        'expected a key that was issued here, got an unknown key; keys -- list shows all keys',
      )
    }
    const hint = 'the key was revoked permanently, with immediate effect'
    return { json: { revoked: true }, lines: [], hint }
  },
  list: async (keys) => {
    const list = await keys.list()
    const lines = list.map((one) => {
      const credits = `${one.credits} credits${isLow(one) ? ' (low)' : ''}`
      const account = `account ${one.account}`
      return [one.id, one.key, one.name, account, one.plan, credits, stateOf(one)].join('\t')
    })
    const hint = list.length > 0 ? undefined : 'no keys have been issued yet'
    return { json: { keys: list }, lines, hint }
  },
  usage: async (keys) => {
    const usage = await keys.usage()
    const lines = usage.map(({ day, key_id: id, key, requests, failures, credits }) =>
      [day, id, key, `${requests} requests`, `${failures} failed`, `${credits} credits`].join('\t'),
    )
    const hint = usage.length > 0 ? undefined : 'no usage has been recorded yet'
    return { json: { usage }, lines, hint }
  },
  'top-up': async (keys, flags) => {
    const { credits = missing('--credits with the number to add') } = flags
    return balance(await keys.topUp({ account: accountOf(flags), credits }))
  },
  plan: async (keys, flags) => {
    const { plan = missing('--plan with the name of a plan') } = flags
    return balance(await keys.changePlan({ account: accountOf(flags), plan }))
  },
} satisfies Record<string, Action>
const names = Object.keys(actions) as (keyof typeof actions)[]

export async function runKeys({ options, args, env, closers }: Call<KeysOptions>): Promise<Exit> {
  const [word = '', keyOrId] = args
  const act: Action = actions[wordFlag('action', word, names)]
  if (keyOrId !== undefined && word !== 'revoke' && word !== 'rotate') {
    throw new Misuse(`expected no argument after ${word}, got an argument; flags begin with --`)
  }
  const flags = readFlags(options)
  const { pool } = await openTablesOf(env, closers)
  const { json, lines, hint } = await act(new Keys(pool), flags, keyOrId)
  if (options.json === true) printJson(json)
  else lines.forEach(print)
  if (hint !== undefined) say(hint)
  return exits.done
}

function readFlags(options: KeysOptions) {
  const rate = wholeFlag('rate', options.rate, 1_000_000)
  if (rate === 0) throw new Misuse('expected --rate to be at least 1, got 0')
  const account = wholeFlag('account', options.account, Number.MAX_SAFE_INTEGER)
  const credits = wholeFlag('credits', options.credits, 1_000_000_000_000)
  return { ...options, account, credits, rate }
}

function issued(json: IssuedKey, more = ''): Shown {
  return { json, lines: [json.key], hint: `this key is shown only once, so store it now${more}` }
}

function balance(credits: number): Shown {
  return { json: { credits }, lines: [`${credits} credits`] }
}

function missing(what: string): never {
  throw new Misuse(`expected ${what}, got nothing; keys -- list shows keys and accounts`)
}

const accountOf = ({ account = missing('--account with its number') }: Flags) => account

function stateOf(key: ListedKey): string {
  if (isRevoked(key)) return 'revoked'
  return key.revoked_at === null ? 'valid' : `valid until ${formatInstant(key.revoked_at)}`
}

function refuseOddFlags({ kind, ...flags }: Flags): void {
  if (flags.plan !== undefined && flags.credits !== undefined) {
    throw new Misuse('expected --plan or --credits, got both; a plan has its own credits')
  }
  const own = (['plan', 'credits', 'rate'] as const).find((name) => flags[name] !== undefined)
  if (own === undefined) return
  const problem =
    flags.account !== undefined
      ? `expected --account or --${own}, got both; a second key shares the plan and limits of its account`
      : `expected --kind live with --${own}, got a test key, which uses no credits; add --kind live or leave out --${own}`
  if (flags.account !== undefined || kind === 'test') throw new Misuse(problem)
}
