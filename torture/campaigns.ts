import { bugs } from './bugs/campaign.ts'
import type { Campaign } from './campaign.ts'
import { disk } from './disk/campaign.ts'
import { fuzzing } from './fuzz/campaign.ts'
import { kill } from './kill/campaign.ts'
import { pg } from './pg/campaign.ts'
import { power } from './power/campaign.ts'
import { simulation } from './simulation/campaign.ts'
import { soak } from './soak/campaign.ts'
import { sweep } from './sweep/campaign.ts'
import { webhooks } from './webhooks/campaign.ts'

/** In the order in which the help lists them. */
export const CAMPAIGNS: readonly Campaign[] = [kill, pg, sweep, power, disk, simulation, fuzzing, webhooks, soak, bugs]
