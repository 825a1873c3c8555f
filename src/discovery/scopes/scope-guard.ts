import { Injectable } from '@nestjs/common';
import {
  type Address,
  contains,
  containsNetwork,
  formatAddress,
  formatNetwork,
  parseNetwork,
} from '../../hosts/network/address.port.js';
import { AddressGuard } from '../../hosts/network/address-guard.service.js';
import { Problem } from '../../platform/http/problem.js';
import type { ScanScope } from './scan-scope.entity.js';

/** Holds scans to their scope, when they are ordered and again at every connection. */
@Injectable()
export class ScopeGuard {
  constructor(private readonly guard: AddressGuard) {}

  /** The network in its one spelling. Throws Problem `network.spelling` or `network.denied`. */
  network(text: string, pointer: string): string {
    const network = parseNetwork(text);
    if (network === undefined) {
      const errors = [{ pointer, detail: 'must be a network like 192.0.2.0/24, its host bits zero' }];
      throw new Problem('forbidden', 'network.spelling', `${pointer}: is no network.`, { errors });
    }
    const denial = this.guard.networkDenial(network);
    if (denial === undefined) return formatNetwork(network);
    const errors = [{ pointer, detail: denial }];
    throw new Problem('forbidden', 'network.denied', `${pointer}: ${denial}.`, { errors });
  }

  /** A target in its one spelling, if it is within the scope with all its addresses. Throws Problem; nothing is sent but questions to name servers. */
  async target(scope: ScanScope, text: string, port: number, pointer: string): Promise<string> {
    if (text.includes('/') || parseNetwork(text) !== undefined) {
      const spelt = this.network(text, pointer);
      const network = parseNetwork(spelt);
      const inside = scope.networks.some((one) => {
        const outer = parseNetwork(one);
        return outer !== undefined && network !== undefined && containsNetwork(outer, network);
      });
      return inside ? spelt : this.refuse(pointer, text);
    }
    this.guard.assertWritten(text, pointer);
    const name = text.toLowerCase().replace(/\.$/, '');
    await this.addresses(scope, name, port, pointer);
    return name;
  }

  /**
   * The addresses to connect to. For a name: every answer must be allowed, and in a network of the scope if it has any. Throws Problem.
   */
  async addresses(scope: ScanScope, target: string, port: number, pointer = '/targets'): Promise<string[]> {
    const network = parseNetwork(target);
    if (network === undefined && !scope.names.some((name) => target === name || target.endsWith(`.${name}`)))
      return this.refuse(pointer, target);
    const addresses = await this.guard.resolve(target, port);
    const isStray = (address: Address) => !scope.networks.some((one) => isIn(one, address));
    const stray = addresses.find(isStray);
    if (stray !== undefined && (network !== undefined || scope.networks.length > 0))
      return this.refuse(pointer, `${target}, which is at ${formatAddress(stray)}`);
    return addresses.map(formatAddress);
  }

  /** As `addresses`, empty when there are none to connect to. */
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

function isIn(text: string, address: Address): boolean {
  const network = parseNetwork(text);
  return network !== undefined && contains(network, address);
}
