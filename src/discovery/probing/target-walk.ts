import { createHash } from 'node:crypto';
import { formatAddress, type Network, parseNetwork, networkSizeOf } from '../../formats/encoding/ip-address.js';

export interface Step {
  /** Address or name. */
  readonly target: string;
  readonly port: number;
}

interface Stretch {
  readonly first: number;
  readonly size: number;
  readonly network?: Network;
  readonly name?: string;
}

/**
 * TargetWalk maps positions from 0 to `total` − 1 to combinations of target and port. Addresses are computed rather than stored, so a position is sufficient to
 * resume a scan. Within a network, addresses are visited in a scattered order, to spread connections over subnets. The order is deterministic for a seed.
 */
export class TargetWalk {
  readonly total: number;
  private readonly stretches: Stretch[] = [];
  private readonly factor: number;

  constructor(
    targets: readonly string[],
    private readonly ports: readonly number[],
    seed: string,
  ) {
    // An odd factor is coprime to the size of a network, which is a power of two, so every address is visited exactly once.
    this.factor = (createHash('sha256').update(seed).digest().readUInt32BE() % 65_521) * 2 + 1;
    let first = 0;
    for (const target of targets) {
      const network = parseNetwork(target);
      const size = network === undefined ? 1 : Number(networkSizeOf(network));
      this.stretches.push(network === undefined ? { first, size, name: target } : { first, size, network });
      first += size;
    }
    this.total = first * ports.length;
  }

  at(position: number): Step {
    const index = Math.floor(position / this.ports.length);
    const port = this.ports[position % this.ports.length] as number;
    const stretch = this.stretches.find(({ first, size }) => index < first + size);
    if (stretch === undefined || position < 0) throw new RangeError(`position ${position} does not exist`);
    const { network, name = '', first, size } = stretch;
    if (network === undefined) return { target: name, port };
    const offset = (BigInt(index - first) * BigInt(this.factor)) % BigInt(size);
    return { target: formatAddress({ family: network.family, value: network.base + offset }), port };
  }
}
