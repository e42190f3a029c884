/**
 * In a child, the descriptor that closes when the node that started it is gone. The kernel closes it however the node
 * ends, so nothing has to be sent, and nothing can be missed.
 */
export const LIFELINE_FD = 4
