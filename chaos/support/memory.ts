import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Bytes that this process holds after garbage was collected: what is kept by mistake stays in it, however the heap finds its size. */
export function heldMemory(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

export function megabytes(bytes: number): number {
  return Math.round(bytes / (1 << 20));
}
