/** The key under which a scheduler hands out its door; all copies of Pawl share it. Not part of the public API. */
export const DOOR: unique symbol = Symbol.for('pawl.door')
