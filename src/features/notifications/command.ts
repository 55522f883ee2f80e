// The notify command: lists the notices, or sends a test notice.

import { randomUUID } from 'node:crypto'
import { type Call, print, printJson, say } from '../../base/cli/command.ts'
import { countFlag } from '../../base/cli/flags.ts'
import { formatTable } from '../../base/cli/text.ts'
import { type Config, readConfig } from '../../base/config.ts'
import { type Exit, exits, Misuse, reasonOf } from '../../base/errors.ts'
import { openMill } from '../../core/mill.ts'
import { listNotices, type NoticeRow } from './news.ts'
import { post, refusalOf } from './webhook.ts'

interface NotifyFlags {
  readonly test?: true
  readonly limit: string
}

export async function runNotify({ options, env, closers }: Call<NotifyFlags>): Promise<Exit> {
  const limit = countFlag('limit', options.limit)
  const config = readConfig(env)
  if (options.test === true) return sendTest(config, options.json === true)
  const mill = await openMill({ config, closers, say, name: 'notify', reading: true })
  const notices = await listNotices(mill.db, limit)
  if (options.json === true) printJson({ webhook: config.webhook !== null, notices })
  else print(formatNotices(notices))
  if (config.webhook === null) say('MILL_WEBHOOK is not set, so no notices are sent')
  return exits.done
}

async function sendTest({ webhook }: Config, json: boolean): Promise<Exit> {
  if (webhook === null) {
    throw new Misuse('expected MILL_WEBHOOK to be an address, got nothing; set it')
  }
  const id = randomUUID()
  const text = 'querymill: test notice; notices about nights, stops and alerts will arrive here'
  const notice = { id, kind: 'test', text, at: new Date().toISOString(), fields: {} }
  const posted = await post(webhook, notice).catch((error: unknown) => {
    return { ok: false, status: null, said: reasonOf(error) }
  })
  const { ok, status, said } = posted
  if (json) printJson({ id, taken: ok, status, said })
  if (status === null) {
    say(`error: ${said}; check that the address is correct and reachable from this host`)
    return exits.unreachable
  }
  const how = `as ${webhook.format}, ${webhook.secret === null ? 'not signed' : 'signed'}`
  say(`sent notice ${id} ${how}; the receiver answered ${status}${said === '' ? '' : `: ${said}`}`)
  if (ok) return exits.done
  say(`error: ${refusalOf({ status })}; check the address and the receiver's log`)
  return exits.unreachable
}

function formatNotices(notices: readonly NoticeRow[]): string {
  if (notices.length === 0) return 'No notices so far.'
  const rows = notices.map(({ noted_at: noted, state, tries, event, text, problem }) => {
    const why = problem === null || state === 'told' ? '' : ` (${problem})`
    return [noted, `${state}${why}`, tries, event, text]
  })
  return formatTable(['noted', 'state', 'tries', 'event', 'text'], rows, {
    right: ['tries'],
    widest: 120,
  })
}
