import { randomUUID } from 'node:crypto';

/** This process, as the one that has taken work. New at every start: nobody comes back from the dead under an old name. */
export const WORKER_ID = randomUUID();
