import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

/** Input of the sensor process, passed as JSON in an environment variable. */
export interface Fleet {
  readonly url: string;
  /** One API key for each sensor. */
  readonly keys: readonly string[];
  readonly assets: number;
}

/** `ready` when all scans have been built; `pushed` for each scan that was imported, with the number of times the sensor had to wait. */
export type FleetMessage = { readonly ready: true } | { readonly pushed: number; readonly waits: number };

/** Builds the scan of one machine: keys unique to the machine, and one algorithm shared by all machines. */
export function scanOf(sensor: number, assets: number): Buffer {
  const found = Array.from({ length: assets }, (_, i) => {
    const id = createHash('sha256').update(`${sensor} ${i}`).digest('hex');
    const occurrence = { location: `machine-${sensor}:/etc/ssl/${id.slice(0, 12)}.pem`, line: 1 };
    const facts = { type: 'public-key', id, state: 'active', size: 2048, algorithmRef: 'RSA-2048' };
    const cryptoProperties = { assetType: 'related-crypto-material', relatedCryptoMaterialProperties: facts };
    return {
      component: { type: 'cryptographic-asset', 'bom-ref': id, name: `key ${id.slice(0, 12)}`, cryptoProperties },
      occurrence,
    };
  });
  const rsa = {
    type: 'cryptographic-asset',
    'bom-ref': 'RSA-2048',
    name: 'RSA-2048',
    cryptoProperties: { assetType: 'algorithm', algorithmProperties: { primitive: 'signature' } },
  };
  const body = { scanId: `scan-${sensor}`, source: `machine-${sensor}`, complete: true };
  return Buffer.from(JSON.stringify({ ...body, assets: [{ component: rsa }, ...found] }));
}

/** Pushes a scan as a sensor does, and retries after the Retry-After delay if the service is busy. Returns the number of waits. */
async function push(url: string, key: string, sensor: number, body: Buffer): Promise<number> {
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    'idempotency-key': `scan-${sensor}`,
  };
  for (let waits = 0; ; waits += 1) {
    const response = await fetch(`${url}/api/ingest`, { method: 'POST', headers, body });
    const text = await response.text();
    if (response.status === 200) return waits;
    const seconds = Number(response.headers.get('retry-after'));
    if (![429, 503].includes(response.status) || !(seconds > 0)) throw new Error(`${response.status} ${text}`);
    await sleep(seconds * 1000);
  }
}

async function run({ url, keys, assets }: Fleet): Promise<void> {
  const tell = (message: FleetMessage) => process.send?.(message);
  const scans = keys.map((_, sensor) => scanOf(sensor, assets));
  tell({ ready: true });
  await new Promise((resolve) => process.once('message', resolve));
  await Promise.all(
    keys.map(async (key, sensor) =>
      tell({ pushed: sensor, waits: await push(url, key, sensor, scans[sensor] ?? Buffer.alloc(0)) }),
    ),
  );
  process.disconnect();
}

// Started by bench/sensors.ts as a separate process, so that the load does not delay the measurement.
const fleet = process.env['BENCH_FLEET'];
if (fleet !== undefined && process.send !== undefined) await run(JSON.parse(fleet) as Fleet);
