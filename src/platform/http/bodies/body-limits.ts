import { totalmem } from 'node:os';
import { constrainedMemory } from 'node:process';

const MB = 1024 * 1024;

/** Maximum body size of any route. */
export const MAX_REQUEST_BODY_BYTES = 256 * MB;
/**
 * Memory shared by the request bodies of a process, in bytes, except those counted against LARGE_BODY_MEMORY_BYTES. A body holds its share from arrival until
 * it has been processed.
 */
export const BODY_MEMORY_BYTES = 64 * MB;

/** Memory of the container or the machine, in bytes. */
const MEMORY = Math.min(totalmem(), constrainedMemory() || Infinity);
/** Divisor that determines LARGE_BODY_MEMORY_BYTES. Until a document is stored, processing takes five times as much memory as the body. */
const PART_OF_MEMORY = 32;
/** Memory for bodies that each need more than half of the shared memory. A larger body is admitted only if no other large body is present. */
export const LARGE_BODY_MEMORY_BYTES = Math.round(
  Math.min(2 * MAX_REQUEST_BODY_BYTES, Math.max(128 * MB, MEMORY / PART_OF_MEMORY)),
);
