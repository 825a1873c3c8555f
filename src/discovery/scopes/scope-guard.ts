import { Injectable } from '@nestjs/common';
import {
  type Address,
  contains,
  containsNetwork,
  formatAddress,
  formatNetwork,
  type Network,
  parseNetwork,
} from '../../formats/encoding/ip-address.js';
import { HostAddressGuard } from '../../hosts/network/address-guard.service.js';
import { canonicalAddress } from '../../hosts/network/host-place.port.js';
import { Problem } from '../../platform/errors/problem.js';
import type { ScanScope } from '../scan.entity.js';
import { readNetworks, type ListEntry, listEntriesOf } from './written-networks.js';

/** ScopeGuard restricts scans to their scope, both when a scan is created and before every connection. */
@Injectable()
export class ScopeGuard {
  constructor(private readonly guard: HostAddressGuard) {}

  /**
   * Parses a list of networks and returns them in canonical form.
   * @throws Problem `network.spelling` or `network.denied`
   */
  networks(list: string, pointer: string): string[] {
    return listEntriesOf(list).flatMap((word) => {
      const networks = readNetworks(word.text);
      if (Array.isArray(networks)) return networks.map((network) => this.allowedNetwork(network, pointer));
      throw misspelt(pointer, word, networks ?? 'must be a network such as 192.0.2.0/24, an address, or a range');
    });
  }

  /**
   * Parses a list of targets, checks that all their addresses are within the scope, and returns the targets in canonical form. Sends DNS queries, but does not
   * connect to targets. Throws Problem.
   */
  async targets(scope: ScanScope, list: string, port: number, pointer: string): Promise<string[]> {
    const targets: string[] = [];
    const words = listEntriesOf(list);
    if (words.length === 0) throw misspelt(pointer, { text: list, column: 1 }, 'contains no target');
    for (const word of words) targets.push(...(await this.target(scope, word, port, pointer)));
    return targets;
  }

  private async target(scope: ScanScope, word: ListEntry, port: number, pointer: string): Promise<string[]> {
    const networks = readNetworks(word.text);
    if (typeof networks === 'string') throw misspelt(pointer, word, networks);
    if (networks !== undefined) {
      const spelt = networks.map((network) => this.allowedNetwork(network, pointer));
      const outer = scope.networks.map((one) => parseNetwork(one)).filter((one) => one !== undefined);
      const isInside = networks.every((network) => outer.some((one) => containsNetwork(one, network)));
      return isInside ? spelt : this.refuse(pointer, word.text);
    }
    const name = canonicalAddress(word.text);
    this.guard.assertWritten(name, pointer);
    await this.addresses(scope, name, port, pointer);
    return [name];
  }

  private allowedNetwork(network: Network, pointer: string): string {
    const denial = this.guard.networkDenial(network);
    if (denial === undefined) return formatNetwork(network);
    const errors = [{ pointer, detail: denial }];
    throw new Problem('forbidden', 'network.denied', `${pointer}: ${denial}.`, { errors });
  }

  /**
   * Returns the addresses to connect to. For a name, every address in DNS must be allowed, and must be in a network of the scope if the scope has networks.
   * Throws Problem.
   */
  async addresses(scope: ScanScope, target: string, port: number, pointer = '/targets'): Promise<string[]> {
    const network = parseNetwork(target);
    if (network === undefined && !scope.names.some((name) => target === name || target.endsWith(`.${name}`)))
      return this.refuse(pointer, target);
    const addresses = await this.guard.resolve(target, port);
    const isStray = (address: Address) => !scope.networks.some((one) => isIn(one, address));
    const stray = addresses.find(isStray);
    if (stray !== undefined && (network !== undefined || scope.networks.length > 0))
      return this.refuse(pointer, `${target} (${formatAddress(stray)})`);
    return addresses.map(formatAddress);
  }

  /** Like `addresses`, but returns an empty array instead of throwing a Problem. */
  async allowed(scope: ScanScope, target: string, port: number): Promise<string[]> {
    try {
      return await this.addresses(scope, target, port);
    } catch (error) {
      if (error instanceof Problem) return [];
      throw error;
    }
  }

  private refuse(pointer: string, what: string): never {
    const shown = what.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 150);
    const errors = [{ pointer, detail: `${shown} is outside the scope` }];
    throw new Problem('forbidden', 'scan.outside-scope', `${pointer}: ${shown} is outside the scope.`, { errors });
  }
}

function misspelt(pointer: string, { text, column }: ListEntry, why: string): Problem {
  const shown = text.replaceAll(/[^\x20-\x7e]/g, '?').slice(0, 100);
  const detail = `"${shown}" (column ${column}) ${why}`;
  return new Problem('forbidden', 'network.spelling', `${pointer}: ${detail}.`, { errors: [{ pointer, detail }] });
}

function isIn(text: string, address: Address): boolean {
  const network = parseNetwork(text);
  return network !== undefined && contains(network, address);
}
