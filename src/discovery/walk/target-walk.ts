import { createHash } from 'node:crypto';
import { formatAddress, type Network, parseNetwork, networkSizeOf } from '../../formats/addresses/address.js';

export interface Step {
  /** An address, or a name. */
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
 * Every target with every port, as positions from 0 to `total`: addresses are computed, not stored, and a position is enough to resume.
 * Within a network the order is scattered, so that no subnet gets all connections at once; it is the same for the same seed.
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
    // An odd number has no factor in common with the size of a network, which is a power of two: it visits every address once.
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
    if (stretch === undefined || position < 0) throw new RangeError(`there is no position ${position}`);
    const { network, name = '', first, size } = stretch;
    if (network === undefined) return { target: name, port };
    const offset = (BigInt(index - first) * BigInt(this.factor)) % BigInt(size);
    return { target: formatAddress({ family: network.family, value: network.base + offset }), port };
  }
}
