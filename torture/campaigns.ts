import type { Campaign } from './campaign.ts'
import { kill } from './kill/campaign.ts'
import { power } from './power/campaign.ts'
import { simulation } from './simulation/campaign.ts'
import { sweep } from './sweep/campaign.ts'

/** In the order in which the help lists them. */
export const CAMPAIGNS: readonly Campaign[] = [kill, sweep, power, simulation]
