import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { openStage } from '../test/support/stage.js';
import { DiscoveryBench, PORTS, SETTINGS } from './discovery/discovery-bench.js';
import { canMakeSilence, type SilentNetwork, silentNetwork } from './discovery/silent-network.js';

/**
 * npm run bench -- discovery [--only keyscan,network,resume] [--hosts 256] [--bits 16]
 * Measures scan throughput. `keyscan` compares a scan with ssh-keyscan against the same sshd on many loopback addresses. `network` scans a network (in a
 * namespace) in which one address in a hundred is a live host and all other addresses stay silent. `resume` scans the same network, and the worker is killed
 * halfway through. Each measurement takes some minutes. Requires root, iproute2, openssh and python3, which counts the packets.
 */
const { values } = parseArgs({
  options: {
    only: { type: 'string', default: 'keyscan,network,resume' },
    hosts: { type: 'string', default: '256' },
    bits: { type: 'string', default: '16' },
  },
});
const parts = values.only.split(',');
const say = (line: string) => void process.stdout.write(`${line}\n`);
const directory = mkdtempSync(join(tmpdir(), 'sealwright-bench-'));

const stage = await openStage();
let network: SilentNetwork | undefined;
try {
  const { apiKey } = await stage.seed();
  const api = await stage.start({ role: 'api', settings: SETTINGS });
  const bench = new DiscoveryBench({ stage, api, key: apiKey, directory, say });
  if (parts.includes('keyscan')) await bench.besideKeyscan(Number(values.hosts));
  if (canMakeSilence()) {
    network = await silentNetwork(Number(values.bits), directory, PORTS);
    if (parts.includes('network')) await bench.wholeNetwork(network);
    if (parts.includes('resume')) await bench.killedHalfWay(network);
  } else say('The network of silence is skipped: it takes root, iproute2 (ip netns) and python3.');
} finally {
  await network?.close();
  await stage.close();
  rmSync(directory, { recursive: true, force: true });
}
process.exit(0);
