/** The largest body that any route takes. */
export const LARGEST_BODY_BYTES = 256 * 1024 * 1024;
/** Of all large bodies that a process holds at once: while they arrive, wait, and are worked on. */
export const ROOM_BYTES = 64 * 1024 * 1024;
/** Of those that fill most of that room by themselves. Less than one may have, which comes in alone then. */
export const LARGE_ROOM_BYTES = 128 * 1024 * 1024;
