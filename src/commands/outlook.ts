import { readConfig } from '../shared/config.ts'
import { exits, type Exit } from '../shared/errors.ts'
import { print, printJson, say, type Call } from '../shared/terminal/command.ts'
import { refreshOutlook } from './mill/kept-outlook.ts'
import { openMill } from './mill/mill.ts'
import { outlookJson, outlookLines, readCreditOutlook } from './mill/outlook.ts'

export interface OutlookOptions {
  readonly days: number
  readonly keep?: true
  readonly json?: true
}

/** Says what open runs and coming nights will cost, and when the floor is met. */
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
