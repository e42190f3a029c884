import type { Campaign } from './campaign.ts'
import { simulation } from './simulation/campaign.ts'

/** In the order in which the help lists them. */
export const CAMPAIGNS: readonly Campaign[] = [simulation]
