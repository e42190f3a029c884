// `npm run torture -- <campaign>`: tries to break Pawl. See docs/reliability.md.
import { CAMPAIGNS } from './campaigns.ts'
import { readCommand, usage } from './command.ts'
import { runCampaign } from './run-campaign.ts'

const command = readCommand(process.argv.slice(2), CAMPAIGNS)
switch (command.kind) {
  case 'help':
    console.log(usage(CAMPAIGNS))
    break
  case 'refused':
    console.error(`${command.message}\n\n${usage(CAMPAIGNS)}`)
    process.exitCode = 2
    break
  case 'run':
    process.exitCode = await runCampaign(command)
    // Whatever a campaign left open must not keep this process.
    process.exit()
}
