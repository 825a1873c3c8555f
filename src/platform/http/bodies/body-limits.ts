import { totalmem } from 'node:os';
import { constrainedMemory } from 'node:process';

const MB = 1024 * 1024;

/** The largest body that any route takes. */
export const MAX_REQUEST_BODY_BYTES = 256 * MB;
/** Memory for all large bodies in a process: while they arrive, wait, and are processed. */
export const BODY_MEMORY_BYTES = 64 * MB;

/** Memory of the container, or of the machine. */
const MEMORY = Math.min(totalmem(), constrainedMemory() || Infinity);
/** Divides the memory: until it is stored, a document takes five times the memory of its body. */
const PART_OF_MEMORY = 32;
/** Memory for bodies that need more than half of the shared memory each. A body that is larger than all of it is admitted alone. */
export const LARGE_BODY_MEMORY_BYTES = Math.round(
  Math.min(2 * MAX_REQUEST_BODY_BYTES, Math.max(128 * MB, MEMORY / PART_OF_MEMORY)),
);
