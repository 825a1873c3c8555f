import { createHash } from 'node:crypto';
import { outlineOf } from '../../platform/json/json-outline.js';
import { isUtf16 } from '../model/json.js';

/** Sensors write the id of the scan first. */
const HEAD_BYTES = 4096;
const SCAN_ID = '"scanId"';

/**
 * SHA-256 of what a body says. For the scan of a sensor that is the body without the value of `scanId`, which is new in each scan: two scans
 * that found the same have the same digest, whether or not the sensor names its scans.
 *
 * @param bytes of a body that was read without a fault.
 */
export function contentDigest(bytes: Buffer): Buffer {
  const hash = createHash('sha256');
  const id = scanIdIn(bytes);
  if (id === undefined) return hash.update(bytes).digest();
  return hash.update(bytes.subarray(0, id.start)).update(bytes.subarray(id.end)).digest();
}

function scanIdIn(bytes: Buffer) {
  if (!bytes.subarray(0, HEAD_BYTES).includes(SCAN_ID) || isUtf16(bytes)) return undefined;
  const outline = outlineOf(bytes);
  return outline?.has('assets') === true && !outline.has('bomFormat') ? outline.get('scanId') : undefined;
}
