import { constrainedMemory } from 'node:process';
import { totalmem } from 'node:os';

const MB = 1024 * 1024;

/** The largest body that any route takes. */
export const LARGEST_BODY_BYTES = 256 * MB;
/** Of all large bodies that a process holds at once: while they arrive, wait, and are worked on. */
export const ROOM_BYTES = 64 * MB;

/** What a container was given, or the machine has. */
const MEMORY = Math.min(totalmem(), constrainedMemory() || Infinity);
/** Until it is written, a document takes five times the memory that its body has. */
const PART_OF_MEMORY = 32;
/** Of bodies that fill most of the room by themselves. Where it is less than one may have, that one comes in alone. */
export const LARGE_ROOM_BYTES = Math.round(
  Math.min(2 * LARGEST_BODY_BYTES, Math.max(128 * MB, MEMORY / PART_OF_MEMORY)),
);
