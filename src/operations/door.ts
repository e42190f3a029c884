/** The key under which a scheduler hands out its door. Not part of the public API. */
export const DOOR = Symbol('door')
