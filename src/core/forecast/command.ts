// The command `npm run outlook`: prints the forecast.

import { type Call, print, printJson, say } from '../../base/cli/command.ts'
import { readConfig } from '../../base/config.ts'
import { type Exit, exits } from '../../base/errors.ts'
import { openMill } from '../mill.ts'
import { outlookJson, outlookLines, readCreditOutlook } from './foresee.ts'
import { refreshOutlook } from './stored-forecast.ts'

export interface OutlookOptions {
  readonly days: number
  readonly keep?: true
  readonly json?: true
}

/** Prints the expected cost of open runs and coming nights, and when the credit floor is reached. */
export async function showOutlook({ options, env, closers }: Call<OutlookOptions>): Promise<Exit> {
  const config = readConfig(env)
  const mill = await openMill({
    config,
    closers,
    say,
    name: 'outlook',
    reading: options.keep !== true,
  })
  if (options.keep === true && !(await refreshOutlook(mill, { now: true }))) {
    say('nothing is kept: no call was ever made for this account, or it is a test account')
  }
  const outlook = await readCreditOutlook(mill, { days: options.days })
  if (options.json === true) printJson(outlookJson(outlook))
  else print(outlookLines(outlook, config.zone).join('\n'))
  return exits.done
}
